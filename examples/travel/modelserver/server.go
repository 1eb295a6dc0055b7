// Package modelserver is a model that needs no model: a chat-completions
// endpoint on loopback that plays a travel assistant. It speaks the same wire
// format as a real endpoint, refuses requests that a real one would refuse, and
// answers from nothing but the request, so what hooks do to a conversation
// shows in what it says. What it says comes whole or as server-sent events.
package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// Server is a running model server.
type Server struct {
	url    string
	http   *http.Server
	served chan struct{} // closed when the server has ended
}

// Start starts a server on a free port of the loopback interface. It ends with
// the program, or by Close.
func Start() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the embedded model server can't listen: %w", err)
	}
	return serve(l), nil
}

// serve starts a server on l. A client that is slow or silent is dropped: none
// holds a connection, or a goroutine, for good.
func serve(l net.Listener) *Server {
	s := &Server{
		url: "http://" + l.Addr().String() + "/v1",
		http: &http.Server{
			Handler:           Handler(),
			ReadHeaderTimeout: 10 * time.Second,
			ReadTimeout:       30 * time.Second, // of a request with its body
			WriteTimeout:      60 * time.Second, // from the end of the header to the end of the reply
			IdleTimeout:       60 * time.Second,
			MaxHeaderBytes:    64 << 10,
		},
		served: make(chan struct{}),
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l) // Close makes it return, and nothing else does
	}()
	return s
}

// URL returns the base URL: "http://127.0.0.1:41234/v1".
func (s *Server) URL() string { return s.url }

// Close ends the server and its connections.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.served
	return err
}

// Handler returns the endpoint as an [http.Handler], safe for concurrent use.
// It keeps nothing between requests.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", complete)
	return mux
}

const maxBody = 1 << 20

func complete(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		status, why := problem(err)
		refuse(w, status, why)
		return
	}
	req, err := parse(raw)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	says := say(req, next(req))
	if req.Stream {
		stream(w, req, says)
		return
	}
	write(w, http.StatusOK, says.completion(req.Model))
}

// problem says why a request couldn't be read.
func problem(err error) (status int, why string) {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("the request is larger than %d bytes", maxBody)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return http.StatusRequestTimeout, "the request took too long"
	}
	return http.StatusBadRequest, "the request broke off"
}

func refuse(w http.ResponseWriter, status int, why string) {
	write(w, status, map[string]any{"error": map[string]any{"message": why, "type": "invalid_request_error"}})
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone: there is nobody to tell
}
