package policy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
)

// A tool that fetches pages of one host. The guard reads the URL; the client that the
// tool takes from ctx looks at the redirects, and at the address behind the name.
func ExampleURLs() {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "hello")
	}))
	defer web.Close()
	addr := netip.MustParseAddrPort(strings.TrimPrefix(web.URL, "http://"))

	reg := hooks.NewRegistry()
	policy.URLs{
		Hosts:   []string{"127.0.0.1"}, // one would rather have "api.example.com" here,
		Schemes: []string{"http"},      // and leave out the rest
		Ports:   []uint16{addr.Port()},
		Private: []netip.Prefix{netip.PrefixFrom(addr.Addr(), 32)},
	}.Register(hooks.In(reg), hooks.WithTools("fetch"))
	ctx := hooks.WithScope(context.Background(), reg)

	fetch := func(ctx context.Context, call *hooks.ToolCall) error {
		client, ok := policy.ClientFrom(ctx)
		if !ok {
			return errors.New("fetch needs a client")
		}
		u, err := call.StringArg("url")
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, http.NoBody)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		call.Result = string(text)
		return err
	}
	for _, u := range []string{web.URL, web.URL + "/away", "http://example.com/", "http://user@127.0.0.1/"} {
		call := &hooks.ToolCall{Name: "fetch", Input: map[string]any{"url": u}}
		if err := hooks.RunTool(ctx, call, fetch); err != nil {
			fmt.Println("the run stops:", err)
			return
		}
		fmt.Println(call.Result)
	}
	// Output:
	// hello
	// Get "http://169.254.169.254/": policy: URLs: a URL must have a host that is allowed in this run
	// Tool execution blocked by hook. Tool: fetch. Reason: url must have a host that is allowed in this run
	// Tool execution blocked by hook. Tool: fetch. Reason: url must have no user name and no password
}
