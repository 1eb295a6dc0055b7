package main

// The intranet: a web server on loopback.

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"
)

type webServer struct {
	addr   netip.AddrPort
	server *http.Server
	ended  chan error
	lunch  atomic.Int32 // requests of the menu
}

// serveWeb starts a server on a free port. It must be closed.
func serveWeb() (*webServer, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &webServer{
		addr:  listener.Addr().(*net.TCPAddr).AddrPort(),
		ended: make(chan error, 1),
	}
	w.server = &http.Server{Handler: w.pages(), ReadHeaderTimeout: 10 * time.Second}
	go func() { w.ended <- w.server.Serve(listener) }()
	return w, nil
}

// close ends the server, and waits until it has ended.
func (w *webServer) close() error {
	err := w.server.Close()
	if end := <-w.ended; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// pages are those of the intranet: one that is busy at first, and one that leads away.
func (w *webServer) pages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /menu", func(rw http.ResponseWriter, _ *http.Request) {
		if w.lunch.Add(1) == 1 {
			http.Error(rw, "busy", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(rw, "Today: soup, fish, cake")
	})
	mux.Handle("GET /moved", http.RedirectHandler("http://169.254.169.254/latest/meta-data/", http.StatusFound))
	return mux
}
