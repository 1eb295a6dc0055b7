package policy_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
	"github.com/loophooks/hooks/policy"
)

// What a model reads of a URL.
const (
	urlText = "url must be an absolute URL, without backslashes and control characters"
	urlUser = "url must have no user name and no password"
	urlForm = "url must name its host by ASCII letters, digits, - and ., and end it in no dot and no number"
	urlHost = "url must have a host that is allowed in this run"
	urlPort = "url must have a port that is allowed in this run"
	urlAddr = "url must have a host that is public"
)

// urlCall puts a call with the arguments through u.
func urlCall(t *testing.T, u policy.URLs, input map[string]any) *passed {
	t.Helper()
	r := hookstest.Registry(t)
	u.Register(hooks.In(r))
	return passCall(t, r, &hooks.ToolCall{Name: "fetch", Input: input})
}

func TestURLs_judgesTheText(t *testing.T) {
	t.Parallel()
	hosts := policy.URLs{Hosts: []string{"api.example.com", "*.Example.org", "8.8.8.8", "2606:4700::1111", "127.0.0.1", "xn--bcher-kva.example"}}
	for text, want := range map[string]string{
		"https://api.example.com":                   "",
		"https://api.example.com/v1/a b?q=1#날씨":     "",
		"HTTPS://API.Example.COM/":                  "",
		"https://api.example.com:443/":              "",
		"https://api.example.com:0443/":             "",
		"https://api.example.com:/":                 "",
		"https://www.example.org":                   "",
		"https://a.b.example.org":                   "",
		"https://8.8.8.8/":                          "",
		"https://[2606:4700::1111]/":                "",
		"https://xn--bcher-kva.example/":            "",
		"https://api.example.com/?u=http://evil.te": "",

		"https://example.org":                  urlHost, // the apex
		"https://evil-example.org":             urlHost,
		"https://evil.test":                    urlHost,
		"https://api.example.com.evil.test":    urlHost,
		"https://evil.test/api.example.com":    urlHost,
		"https://evil.test#@api.example.com":   urlHost,
		"https://evil.test?@api.example.com":   urlHost,
		"https://8.8.4.4/":                     urlHost,
		"https://[2606:4700:0::1111]/":         urlHost, // the same address in another text
		"https://[::ffff:8.8.8.8]/":            urlHost,
		"https://localhost":                    urlHost,
		"https://api.example.com@evil.test/":   urlUser,
		"https://u:p@api.example.com/":         urlUser,
		"https://@api.example.com/":            urlUser,
		"https://api.example.com:444/":         urlPort,
		"https://api.example.com:80/":          urlPort,
		"https://api.example.com:65979/":       urlPort, // 443 in 16 bits
		"https://127.0.0.1/":                   urlAddr,
		"http://api.example.com":               "url must begin with https://",
		"ftp://api.example.com":                "url must begin with https://",
		"file://api.example.com/etc/passwd":    "url must begin with https://",
		"":                                     urlText,
		"api.example.com":                      urlText,
		"//api.example.com/":                   urlText,
		"/v1":                                  urlText,
		"https:api.example.com":                urlText,
		"https:/api.example.com":               urlText,
		"https:///api.example.com":             urlText,
		"https://":                             urlText,
		"https://:443":                         urlText,
		" https://api.example.com":             urlText,
		`https://api.example.com\@evil.test/`:  urlText,
		`https:\\api.example.com`:              urlText,
		"https://api.example.com/\\":           urlText,
		"https://api.example.com/\n":           urlText,
		"https://api.exa\tmple.com/":           urlText,
		"https://api.example.com/\x00":         urlText,
		"https://api.example.com/\u0085":       urlText,
		"https://api.example.com/\xff":         urlText,
		"https://api.example.com /":            urlText,
		"https://api.exa%6dple.com/":           urlText,
		"https://[api.example.com]/":           urlText,
		"https://[8.8.8.8]/":                   urlText,
		"https://2606:4700::1111/":             urlText,
		"https://api.example.com:x/":           urlText,
		"https://api.example.com./":            urlForm,
		"https://api..example.com/":            urlForm,
		"https://.example.org/":                urlForm,
		"https://bücher.example/":              urlForm,
		"https://api.exampl\u0435.com/":        urlForm, // Cyrillic
		"https://boo\u212a.example.org/":       urlForm, // the Kelvin sign, k in lower case
		"https://boo%E2%84%AA.example.org/":    urlForm,
		"https://ap\u0130.example.com/":        urlForm, // a dotted I
		"https://api\u3002example\u3002com/":   urlForm, // ideographic full stops
		"https://api.%65xample.com.%E2%80%8B/": urlText,
		"https://%EF%BD%81pi.example.com/":     urlForm, // a full-width a
		"https://[fe80::1%25eth0]/":            urlForm,
		"https://[2606:4700::1111%25eth0]/":    urlForm,
		"https://2130706433/":                  urlForm,
		"https://0x7f.1/":                      urlForm,
		"https://0x7f000001/":                  urlForm,
		"https://0x/":                          urlForm,
		"https://017700000001/":                urlForm,
		"https://127.1/":                       urlForm,
		"https://127.0.0.01/":                  urlForm,
		"https://8.8.8.8./":                    urlForm,
		"https://a.example.org.1/":             urlForm,
		"https://a,b.example.org/":             urlForm,
		"https://a;.example.org/":              urlForm,
		"https://*.example.org/":               urlForm,
	} {
		call := urlCall(t, hosts, map[string]any{"url": text})
		if want == "" {
			call.ran(t, text)
			continue
		}
		call.refused(t, "policy.URLs", want, "%q", text)
	}
}

func TestURLs_schemesAndPorts(t *testing.T) {
	t.Parallel()
	hosts := []string{"a.test"}
	for _, c := range []struct {
		urls policy.URLs
		text string
		want string
	}{
		{policy.URLs{Schemes: []string{"HTTP", "https"}}, "http://a.test", ""},
		{policy.URLs{Schemes: []string{"http", "https"}}, "https://a.test", ""},
		{policy.URLs{Schemes: []string{"http", "https"}}, "http://a.test:443", ""},
		{policy.URLs{Schemes: []string{"http", "https"}}, "ws://a.test", "url must begin with http:// or https://"},
		{policy.URLs{Schemes: []string{"http"}}, "https://a.test", "url must begin with http://"},
		{policy.URLs{Ports: []uint16{8443}}, "https://a.test:8443", ""},
		{policy.URLs{Ports: []uint16{8443}}, "https://a.test", urlPort},
		{policy.URLs{Schemes: []string{"http"}, Ports: []uint16{443}}, "http://a.test", urlPort},
	} {
		c.urls.Hosts = hosts
		call := urlCall(t, c.urls, map[string]any{"url": c.text})
		if c.want == "" {
			call.ran(t, c.text)
			continue
		}
		call.refused(t, "policy.URLs", c.want, c.text)
	}
}

func TestURLs_judgesAddresses(t *testing.T) {
	t.Parallel()
	private := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32")}
	for text, public := range map[string]bool{
		"1.1.1.1": true, "8.8.8.8": true, "100.63.255.255": true, "100.128.0.1": true, "198.17.255.255": true, "223.255.255.255": true,
		"2606:4700::1": true, "2001:4860::1": true, "2003::1": true,
		"64:ff9b::808:808": true, "2002:808:808::1": true,
		"10.1.2.3": true, "fd00:1::5": true, "64:ff9b::a01:203": true, "2002:a01:203::": true, "::ffff:10.1.2.3": true, // among Private

		"0.0.0.0": false, "0.1.2.3": false, "10.2.0.1": false, "100.64.0.1": false, "100.127.255.255": false, "127.0.0.1": false, "127.255.255.254": false,
		"169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false, "192.0.0.1": false, "192.0.2.1": false,
		"192.168.1.1": false, "198.18.0.1": false, "198.19.255.255": false, "198.51.100.1": false, "203.0.113.1": false,
		"224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "::127.0.0.1": false, "::8.8.8.8": false, "::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::ffff:0:8.8.8.8": false,
		"64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::1": false, "100::1": false, "2001::1": false, "2001:db8::1": false,
		"2002:7f00:1::": false, "2002:a00:1::1": false, "3fff::1": false, "5f00::1": false, "fc00::1": false, "fd00:2::1": false,
		"fe80::1": false, "fec0::1": false, "ff02::1": false,
	} {
		host := text
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		call := urlCall(t, policy.URLs{Hosts: []string{text}, Private: private}, map[string]any{"url": "https://" + host})
		if public {
			call.ran(t, text)
			continue
		}
		call.refused(t, "policy.URLs", urlAddr, text)
	}
}

func TestURLs_looksAtItsArguments(t *testing.T) {
	t.Parallel()
	const ok, bad = "https://a.test/", "https://b.test/"
	u := policy.URLs{Hosts: []string{"a.test"}}
	urlCall(t, u, nil).ran(t)
	urlCall(t, u, map[string]any{"link": bad}).ran(t)
	urlCall(t, u, map[string]any{"url": []any{}}).ran(t)
	urlCall(t, u, map[string]any{"url": []any{ok, ok}}).ran(t)
	urlCall(t, u, map[string]any{"url": []string{ok}}).ran(t)
	urlCall(t, u, map[string]any{"url": []any{ok, bad}}).refused(t, "policy.URLs", urlHost)
	urlCall(t, u, map[string]any{"url": []string{ok, bad}}).refused(t, "policy.URLs", urlHost)
	for _, value := range []any{nil, 1.0, map[string]any{}, []any{ok, nil}} {
		urlCall(t, u, map[string]any{"url": value}).refused(t, "policy.URLs", "url must be a string or a list of strings", "%v", value)
	}
	urlCall(t, u, map[string]any{"URL": ok}).refused(t, "policy.URLs", "the argument url must be spelt exactly so")
	urlCall(t, u, map[string]any{"Url": bad, "url": ok}).refused(t, "policy.URLs", "the argument url must be spelt exactly so")

	u.Args = []string{"from", "to"}
	urlCall(t, u, map[string]any{"url": bad, "from": ok}).ran(t)
	urlCall(t, u, map[string]any{"from": ok, "to": bad}).refused(t, "policy.URLs", "to must have a host that is allowed in this run")
}

func TestURLs_passesOverUnreadableArguments(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	policy.URLs{Hosts: []string{"a.test"}}.Register(hooks.In(r))
	call := &hooks.ToolCall{Name: "fetch"}
	require.Error(t, call.SetArguments(`{"url":"https://b.test","url":1}`))
	assert.Nil(t, passCall(t, r, call).Blocked)
}

func TestURLs_reasonsHoldNoValue(t *testing.T) {
	t.Parallel()
	u := policy.URLs{Hosts: []string{"a.test"}}
	for _, text := range []string{
		"https://hunter2.test", "https://u:hunter2@a.test", "hunter2://a.test", "https://a.test:hunter2", "https://a.test\\hunter2",
		"hunter2", "https://[hunter2]/", "https://hunter2./", "https://a.test/%zzhunter2",
	} {
		call := urlCall(t, u, map[string]any{"url": text})
		assert.NotNil(t, call.Blocked, text)
		assert.NotContains(t, call.Result, "hunter2")
	}
}

func TestURLs_isAskedAgainWhereTheInputIsEdited(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	policy.URLs{Hosts: []string{"a.test"}}.Register(hooks.In(r))
	hooks.Around(hooks.ToolBody, func(ctx context.Context, call *hooks.ToolCall, next func(context.Context) error) error {
		call.Input["url"] = "https://b.test"
		return next(ctx)
	}, hooks.In(r))
	passCall(t, r, &hooks.ToolCall{Name: "fetch", Input: map[string]any{"url": "https://a.test"}}).refused(t, "policy.URLs", urlHost)
}

// server counts the requests that reach it.
type server struct {
	*httptest.Server
	port uint16
	hits atomic.Int32
}

func newServer(t *testing.T, handle http.HandlerFunc) *server {
	t.Helper()
	s := new(server)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.hits.Add(1)
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	require.NoError(t, err)
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	require.NoError(t, err)
	s.port = uint16(port)
	return s
}

// at returns the URL of the server under the name of a host.
func (s *server) at(host string) string { return fmt.Sprintf("http://%s:%d/", host, s.port) }

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// fetch gets a URL by a client that u makes.
func fetch(t *testing.T, u policy.URLs, text string) (*http.Response, error) {
	t.Helper()
	client := u.Client()
	t.Cleanup(client.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, text, http.NoBody)
	require.NoError(t, err)
	resp, err := client.Do(req)
	if err == nil {
		t.Cleanup(func() { _ = resp.Body.Close() })
	}
	return resp, err
}

func TestURLs_clientConnectsToPublicAddressesOnly(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(http.ResponseWriter, *http.Request) {})
	u := policy.URLs{Hosts: []string{"localhost", "127.0.0.1"}, Schemes: []string{"http"}, Ports: []uint16{s.port}}

	_, err := fetch(t, u, s.at("localhost")) // the name passes, and leads to 127.0.0.1
	require.ErrorContains(t, err, "policy: URLs: the host's address isn't public")
	assert.NotContains(t, err.Error(), "127.0.0.1")
	_, err = fetch(t, u, s.at("127.0.0.1"))
	require.ErrorContains(t, err, "policy: URLs: a URL must have a host that is public")
	assert.Zero(t, s.hits.Load())

	u.Private = loopback
	for _, host := range []string{"localhost", "127.0.0.1"} {
		resp, err := fetch(t, u, s.at(host))
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, resp.StatusCode)
	}
	assert.EqualValues(t, 2, s.hits.Load())
}

func TestURLs_clientJudgesTheFirstRequest(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(http.ResponseWriter, *http.Request) {})
	u := policy.URLs{Hosts: []string{"localhost"}, Schemes: []string{"http"}, Ports: []uint16{s.port}, Private: loopback}
	for text, want := range map[string]string{
		s.at("127.0.0.1"):     "a URL must have a host that is allowed",
		"http://localhost:1/": "a URL must have a port that is allowed",
		strings.Replace(s.at("localhost"), "http:", "https:", 1): "a URL must begin with http://",
		s.at("user:pass@localhost"):                              "a URL must have no user name",
	} {
		_, err := fetch(t, u, text)
		require.ErrorContains(t, err, want, text)
	}
	assert.Zero(t, s.hits.Load())

	client := u.Client()
	t.Cleanup(client.CloseIdleConnections)
	body := &closing{Reader: strings.NewReader("x")}
	_, err := client.Post("http://other.test/", "text/plain", body)
	require.Error(t, err)
	assert.True(t, body.closed.Load(), "a transport closes the body")
	_, err = client.Do(&http.Request{URL: &url.URL{Scheme: "http", Host: s.at("localhost")[7 : len(s.at("localhost"))-1], Opaque: "//other.test/"}})
	require.ErrorContains(t, err, "a URL must be an absolute URL")
	_, err = client.Transport.RoundTrip(&http.Request{Method: http.MethodGet})
	require.Error(t, err)
}

type closing struct {
	*strings.Reader
	closed atomic.Bool
}

func (c *closing) Close() error {
	c.closed.Store(true)
	return nil
}

func TestURLs_clientJudgesRedirects(t *testing.T) {
	t.Parallel()
	var to atomic.Value
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to.Load().(string), http.StatusFound)
	})
	other := newServer(t, func(http.ResponseWriter, *http.Request) {})
	u := policy.URLs{Hosts: []string{"localhost"}, Schemes: []string{"http"}, Ports: []uint16{s.port}, Private: loopback}
	for target, want := range map[string]string{
		"http://169.254.169.254/":   "a URL must have a host that is allowed",
		"https://localhost/":        "a URL must begin with http://",
		"file:///etc/passwd":        "a URL must ",
		other.at("localhost"):       "a URL must have a port that is allowed",
		s.at("user@localhost"):      "a URL must have no user name",
		"//other.test/":             "a URL must have a host that is allowed",
		s.at("localhost") + "again": "more than 5 redirects",
		"/relative":                 "more than 5 redirects",
	} {
		to.Store(target)
		before := s.hits.Load()
		resp, err := fetch(t, u, s.at("localhost"))
		require.ErrorContains(t, err, "policy: URLs: "+want, target)
		assert.NotNil(t, resp, "net/http hands out the redirect that wasn't followed")
		if strings.HasPrefix(want, "more") {
			assert.EqualValues(t, 6, s.hits.Load()-before, "the first request and five redirects")
		} else {
			assert.EqualValues(t, 1, s.hits.Load()-before, target)
		}
	}
	assert.Zero(t, other.hits.Load())
}

func TestURLs_clientFollowsFiveRedirects(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if n := len(r.URL.Path); n < 6 {
			http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
		}
	})
	u := policy.URLs{Hosts: []string{"localhost"}, Schemes: []string{"http"}, Ports: []uint16{s.port}, Private: loopback}
	resp, err := fetch(t, u, s.at("localhost"))
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	assert.EqualValues(t, 6, s.hits.Load())
}

func TestURLs_givesToolsTheClient(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) })
	r := hookstest.Registry(t)
	policy.URLs{Hosts: []string{"localhost"}, Schemes: []string{"http"}, Ports: []uint16{s.port}, Private: loopback}.
		Register(hooks.In(r), hooks.WithTools("fetch"))
	var clients []*http.Client
	for range 2 {
		passCallWith(t, r, &hooks.ToolCall{Name: "Fetch", Input: map[string]any{"url": s.at("localhost")}}, func(ctx context.Context, call *hooks.ToolCall) error {
			client, ok := policy.ClientFrom(ctx)
			require.True(t, ok)
			clients = append(clients, client)
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, call.Input["url"].(string), http.NoBody)
			require.NoError(t, err)
			resp, err := client.Do(req)
			require.NoError(t, err)
			return resp.Body.Close()
		}).ran(t)
	}
	t.Cleanup(clients[0].CloseIdleConnections)
	assert.Same(t, clients[0], clients[1])
	assert.EqualValues(t, 2, s.hits.Load())

	passCallWith(t, r, &hooks.ToolCall{Name: "other"}, func(ctx context.Context, _ *hooks.ToolCall) error {
		_, ok := policy.ClientFrom(ctx)
		assert.False(t, ok)
		return nil
	}).ran(t)
	_, ok := policy.ClientFrom(t.Context())
	assert.False(t, ok)
}

func TestURLs_guardLooksNoNameUp(t *testing.T) {
	t.Parallel()
	urlCall(t, policy.URLs{Hosts: []string{"localhost", "no.such.invalid"}}, map[string]any{"url": []any{"https://localhost/", "https://no.such.invalid/"}}).ran(t)
}

func TestURLs_takesOptions(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	group := policy.URLs{Hosts: []string{"a.test"}}.Register(hooks.In(r))
	require.Equal(t, 2, registered(r))
	guard, around := r.Hooks(hooks.PreToolCall)[0], r.Hooks(hooks.ToolBody)[0]
	assert.Equal(t, []any{"policy.URLs", 600, hooks.KindGuard}, []any{guard.Name(), guard.Priority(), guard.Kind()})
	assert.Equal(t, []any{"policy.URLs", -700, hooks.KindAround}, []any{around.Name(), around.Priority(), around.Kind()})
	assert.True(t, group.Remove())
	assert.Zero(t, registered(r))
}

func TestURLs_panics(t *testing.T) {
	t.Parallel()
	good := policy.URLs{Hosts: []string{"a.test"}}
	with := func(edit func(*policy.URLs)) policy.URLs {
		u := good
		edit(&u)
		return u
	}
	bad := map[string]policy.URLs{
		"no hosts":        {},
		"empty hosts":     {Hosts: []string{}},
		"a scheme":        with(func(u *policy.URLs) { u.Schemes = []string{"ftp"} }),
		"no schemes":      with(func(u *policy.URLs) { u.Schemes = []string{} }),
		"no ports":        with(func(u *policy.URLs) { u.Ports = []uint16{} }),
		"port 0":          with(func(u *policy.URLs) { u.Ports = []uint16{443, 0} }),
		"a zero prefix":   with(func(u *policy.URLs) { u.Private = []netip.Prefix{{}} }),
		"a mapped prefix": with(func(u *policy.URLs) { u.Private = []netip.Prefix{netip.MustParsePrefix("::ffff:10.0.0.0/104")} }),
	}
	for _, host := range []string{
		"", "*", "*.", "*.*.test", "a.*.test", "*a.test", ".a.test", "a.test.", "a..test", "https://a.test", "a.test:443", "a.test/x",
		"[::1]", "fe80::1%eth0", "bücher.example", "a b", "1.2.3", "*.1.2.3.4", "0x7f.1", "u@a.test",
		"boo\u212a.test", "ap\u0130.test",
	} {
		bad["host "+host] = policy.URLs{Hosts: []string{"a.test", host}}
	}
	for name, u := range bad {
		r := hookstest.Registry(t)
		assert.Panics(t, func() { u.Register(hooks.In(r)) }, name)
		assert.Panics(t, func() { u.Client() }, name)
		assert.Zero(t, registered(r))
	}
	for _, args := range [][]string{{}, {""}} {
		r := hookstest.Registry(t)
		assert.Panics(t, func() { with(func(u *policy.URLs) { u.Args = args }).Register(hooks.In(r)) })
		assert.Zero(t, registered(r))
	}
}

func TestURLs_keepsItsOwnLists(t *testing.T) {
	t.Parallel()
	r := hookstest.Registry(t)
	u := policy.URLs{Hosts: []string{"a.test"}, Ports: []uint16{443}, Args: []string{"url"}}
	u.Register(hooks.In(r))
	u.Hosts[0], u.Ports[0], u.Args[0] = "b.test", 1, "x"
	passCall(t, r, &hooks.ToolCall{Name: "fetch", Input: map[string]any{"url": "https://a.test"}}).ran(t)
	passCall(t, r, &hooks.ToolCall{Name: "fetch", Input: map[string]any{"url": "https://b.test"}}).refused(t, "policy.URLs", urlHost)
}

// What the guard lets through goes where the list says, by the reading of net/url.
func FuzzURLs(f *testing.F) {
	for _, text := range []string{"https://api.example.com/", "https://a@b", `https:\\x`, "https://0x7f.1", "https://[::1]", "https://a.example.com:443", "https://xn--a.example.com"} {
		f.Add(text)
	}
	r := hooks.NewRegistry()
	policy.URLs{Hosts: []string{"api.example.com", "*.example.org"}}.Register(hooks.In(r))
	ctx := hooks.WithScope(context.Background(), r)
	f.Fuzz(func(t *testing.T, text string) {
		call := &hooks.ToolCall{Name: "fetch", Input: map[string]any{"url": text}}
		require.NoError(t, hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return nil }))
		if call.Blocked != nil {
			assert.True(t, strings.HasPrefix(call.Blocked.Reason, "url must "))
			return
		}
		u, err := url.Parse(text)
		require.NoError(t, err)
		host := strings.ToLower(u.Hostname())
		assert.True(t, host == "api.example.com" || strings.HasSuffix(host, ".example.org"), text)
		assert.Nil(t, net.ParseIP(host))
		assert.Equal(t, "https", u.Scheme)
		assert.Nil(t, u.User)
	})
}
