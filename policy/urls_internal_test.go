package policy

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answerDNS answers the queries for addresses that come over conn with what next
// returns, in the form that DNS has over TCP.
func answerDNS(conn net.Conn, next func() netip.Addr) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		end := 12
		for query[end] != 0 { // the labels of the name
			end += int(query[end]) + 1
		}
		end += 5 // the zero, the type and the class
		reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end]...)
		if query[end-3] == 1 { // A, and not AAAA
			ip := next().As4()
			reply[7] = 1
			reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
			reply = append(reply, ip[:]...)
		}
		binary.BigEndian.PutUint16(size[:], uint16(len(reply)))
		if _, err := conn.Write(append(size[:], reply...)); err != nil {
			return
		}
	}
}

func TestURLs_judgesTheAddressThatIsDialled(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(s.Close)
	at, err := url.Parse(s.URL)
	require.NoError(t, err)
	port, err := strconv.ParseUint(at.Port(), 10, 16)
	require.NoError(t, err)
	r := URLs{
		Hosts: []string{"*.example.test"}, Schemes: []string{"http"}, Ports: []uint16{uint16(port)},
		Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
	}.rules()

	var answer atomic.Value
	dialer := r.dialer()
	dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go answerDNS(theirs, func() netip.Addr { return answer.Load().(netip.Addr) })
		return ours, nil
	}}
	client := r.client()
	base := client.Transport.(*judgedTransport).base
	base.DialContext, base.DisableKeepAlives = dialer.DialContext, true
	get := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://api.example.test:"+at.Port(), http.NoBody)
		require.NoError(t, err)
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	answer.Store(netip.MustParseAddr("127.0.0.1"))
	require.NoError(t, get())
	answer.Store(netip.MustParseAddr("127.0.0.2"))
	require.ErrorIs(t, get(), errAddress)
	assert.EqualValues(t, 1, hits.Load())
	answer.Store(netip.MustParseAddr("127.0.0.1"))
	require.NoError(t, get())
}

func TestURLs_asksNoProxy(t *testing.T) {
	t.Parallel()
	client := URLs{Hosts: []string{"a.test"}}.Client()
	assert.Nil(t, client.Transport.(*judgedTransport).base.Proxy)
}
