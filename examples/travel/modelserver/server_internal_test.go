// The limits of the server: how long a client may take, and how much it may
// send. The clock is that of a bubble, so nothing is waited for.

package modelserver

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pipe is a listener that has one connection for its server.
type pipe struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipe) Close() error {
	close(p.closed)
	return nil
}

func (p *pipe) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// connect starts a server in the bubble and returns the client's end of a
// connection to it.
func connect(t *testing.T) net.Conn {
	t.Helper()
	p := &pipe{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
	server := serve(p)
	t.Cleanup(func() {
		assert.NoError(t, server.Close())
		<-time.After(time.Minute) // of the bubble: connections that linger end
	})
	client, end := net.Pipe()
	t.Cleanup(func() { _ = client.Close() })
	p.conns <- end
	return client
}

const (
	requestLine = "POST /v1/chat/completions HTTP/1.1\r\nHost: model\r\n"
	question    = `{"model":"m","messages":[{"role":"user","content":"Book me a seat to Oz on Monday."}]}`
)

func TestServer_slowClient(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		sent   string
		within time.Duration
		status int // of the reply, 0 if the connection is closed without one
	}{
		"says nothing":      {"", 10 * time.Second, 0},
		"begins a header":   {"POST /v1/chat", 10 * time.Second, 0},
		"stays in a header": {requestLine, 10 * time.Second, 0},
		"begins a body":     {requestLine + "Content-Length: 100\r\n\r\n{", 30 * time.Second, http.StatusRequestTimeout},
		"begins a chunk":    {requestLine + "Transfer-Encoding: chunked\r\n\r\nff\r\n{", 30 * time.Second, http.StatusRequestTimeout},
		"asks nothing more": {requestLine + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(question), question), 60 * time.Second, http.StatusOK},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				conn := connect(t)
				begin := time.Now()
				_, err := io.WriteString(conn, tt.sent)
				require.NoError(t, err)
				got := bufio.NewReader(conn)
				if tt.status != 0 {
					resp, err := http.ReadResponse(got, nil)
					require.NoError(t, err)
					_, err = io.Copy(io.Discard, resp.Body)
					require.NoError(t, err)
					assert.Equal(t, tt.status, resp.StatusCode)
				}
				_, err = io.Copy(io.Discard, got)
				require.NoError(t, err, "the server closes the connection")
				assert.LessOrEqual(t, time.Since(begin), tt.within+time.Second)
			})
		})
	}
}

func TestServer_drippingBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn := connect(t)
		begin := time.Now()
		_, err := io.WriteString(conn, requestLine+"Content-Length: 1000\r\n\r\n")
		require.NoError(t, err)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for range tick.C {
				if _, err := io.WriteString(conn, " "); err != nil {
					return
				}
			}
		}()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		assert.Equal(t, http.StatusRequestTimeout, resp.StatusCode)
		assert.LessOrEqual(t, time.Since(begin), 31*time.Second)
		require.NoError(t, conn.Close())
		<-ended
	})
}

func TestServer_clientThatReadsNothing(t *testing.T) {
	t.Parallel()
	for name, question := range map[string]string{
		"of a whole reply": question,
		"of a stream":      strings.Replace(question, "{", `{"stream":true,`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				conn := connect(t)
				begin := time.Now()
				_, err := fmt.Fprintf(conn, "%sContent-Length: %d\r\n\r\n%s", requestLine, len(question), question)
				require.NoError(t, err)
				<-time.After(2 * time.Minute) // of the bubble
				_, err = io.WriteString(conn, "x")
				require.ErrorIs(t, err, io.ErrClosedPipe, "the server has given up")
				assert.Equal(t, 2*time.Minute, time.Since(begin))
			})
		})
	}
}

func TestServer_largeRequest(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		sent   string
		status int
	}{
		"header": {requestLine + "X-Long: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge},
		"body":   {requestLine + fmt.Sprintf("Content-Length: %d\r\n\r\n", maxBody+1) + strings.Repeat(" ", maxBody+1), http.StatusRequestEntityTooLarge},
		"endless body": {requestLine + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1000\r\n"+strings.Repeat(" ", 0x1000)+"\r\n", maxBody/0x1000+2),
			http.StatusRequestEntityTooLarge},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				conn := connect(t)
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					_, _ = io.WriteString(conn, tt.sent) // as far as the server takes it
				}()
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				require.NoError(t, err)
				assert.Equal(t, tt.status, resp.StatusCode)
				require.NoError(t, conn.Close())
				<-sent
			})
		})
	}
}

func TestServer_requestThatBreaksOff(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", iotest.ErrReader(io.ErrUnexpectedEOF)))
	assert.Equal(t, http.StatusBadRequest, w.Code)
	assert.Contains(t, w.Body.String(), "the request broke off")
}
