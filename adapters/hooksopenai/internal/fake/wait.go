package fake

import (
	"io"
	"net/http"
	"strconv"
	"sync"
)

// waits is a transport whose responses are closed when the server has ended with the
// request: what a test sees of the server afterwards is all there is.
type waits struct {
	mu   sync.Mutex
	n    int
	open map[string]chan struct{}
}

const requestHeader = "X-Fake-Request"

// RoundTrip implements http.RoundTripper.
func (s *waits) RoundTrip(req *http.Request) (*http.Response, error) {
	ended := make(chan struct{})
	s.mu.Lock()
	s.n++
	id := strconv.Itoa(s.n)
	if s.open == nil {
		s.open = make(map[string]chan struct{})
	}
	s.open[id] = ended
	s.mu.Unlock()
	req = req.Clone(req.Context())
	req.Header.Set(requestHeader, id)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		resp.Body = &waitingBody{resp.Body, ended}
	}
	return resp, err
}

// end tells that the server has ended with a request.
func (s *waits) end(req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ended, ok := s.open[req.Header.Get(requestHeader)]; ok {
		delete(s.open, req.Header.Get(requestHeader))
		close(ended)
	}
}

type waitingBody struct {
	io.ReadCloser
	ended chan struct{}
}

func (b *waitingBody) Close() error {
	err := b.ReadCloser.Close()
	<-b.ended
	return err
}
