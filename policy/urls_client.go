package policy

// The client that tools connect with.

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// maxRedirects is how many redirects of one request are followed.
const maxRedirects = 5

// Client returns a client that is held to u. It judges the URL of each request, and of
// each of at most five redirects, as the guard does, and each address when it is
// connected to: one that isn't public, or in Private, fails, whatever a name was looked
// up as before. What is refused isn't sent. A proxy that the environment names isn't
// used. An error tells what was wrong with a URL or that an address isn't public; net/http
// puts the URL in front of it.
//
// The client is safe for concurrent use. It limits connecting to 30 seconds and the TLS
// handshake to 10, and nothing else: give requests a ctx that ends. Each call makes one
// with connections of its own, so keep it. Client panics where [URLs.Register] does but
// for Args. Packages net and net/http of the standard library do the work.
func (u URLs) Client() *http.Client { return u.rules().client() }

func (r *urlRules) client() *http.Client {
	dialer := r.dialer()
	return &http.Client{
		Transport: &judgedTransport{rules: r, base: &http.Transport{
			DialContext:           dialer.DialContext,
			ForceAttemptHTTP2:     true,
			MaxIdleConns:          100,
			IdleConnTimeout:       90 * time.Second,
			TLSHandshakeTimeout:   10 * time.Second,
			ExpectContinueTimeout: time.Second,
		}},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("policy: URLs: more than %d redirects", maxRedirects)
			}
			return r.permit(req.URL)
		},
	}
}

// dialer returns one that connects to what r allows.
func (r *urlRules) dialer() *net.Dialer {
	return &net.Dialer{
		Timeout: 30 * time.Second,
		Control: func(_, address string, _ syscall.RawConn) error {
			addr, err := netip.ParseAddrPort(address)
			if err != nil || !r.allowsAddr(addr.Addr()) {
				return errAddress
			}
			return nil
		},
	}
}

var errAddress = errors.New("policy: URLs: the host's address isn't public")

// permit is judge for a request.
func (r *urlRules) permit(u *url.URL) error {
	if err := r.judge(u); err != nil {
		return fmt.Errorf("policy: URLs: a URL must %w", err)
	}
	return nil
}

// judgedTransport judges each request in front of base.
type judgedTransport struct {
	rules *urlRules
	base  *http.Transport
}

func (t *judgedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil {
		return t.base.RoundTrip(req) // which closes the body and tells what is wrong
	}
	if err := t.rules.permit(req.URL); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // as every RoundTripper owes
		}
		return nil, err
	}
	resp, err := t.base.RoundTrip(req)
	if errors.Is(err, errAddress) {
		return nil, errAddress // the text of the dialer's error has the address, which is no model's business
	}
	return resp, err
}

// CloseIdleConnections is what [http.Client.CloseIdleConnections] calls.
func (t *judgedTransport) CloseIdleConnections() { t.base.CloseIdleConnections() }
