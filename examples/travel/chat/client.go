// Package chat is a client of endpoints that speak the OpenAI chat-completions
// format: OpenAI, Ollama, LM Studio, vLLM, a proxy. It sends one request, waits
// for the whole reply or hands it over piece by piece, and doesn't retry.
package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config says which endpoint a [Client] talks to.
type Config struct {
	BaseURL  string // as in "http://localhost:11434/v1"
	APIKey   string // sent as a bearer token, if set; never part of an error
	MaxBytes int64  // of one reply; 4 MiB if 0

	// Timeout is how long one request with its reply may take, and how long a
	// stream may be silent; 2 minutes if 0.
	Timeout time.Duration
}

// Client talks to one endpoint. It is safe for concurrent use.
type Client struct {
	endpoint string // for requests
	name     string // for errors: without user, password and query
	apiKey   string
	timeout  time.Duration
	maxBytes int64
	http     *http.Client
}

// errorWait is how long the body of an error is waited for. The status has said
// the most important, and a body may hang or never end.
const errorWait = time.Second

// New returns a client of cfg's endpoint. It fails when the base URL isn't an
// http or https URL with a host.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(strings.TrimSpace(cfg.BaseURL))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New(`the base URL must be like "http://localhost:11434/v1"`)
	}
	u = u.JoinPath("chat", "completions")
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = 1 << 20
	c := &Client{
		endpoint: u.String(),
		name:     (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(),
		apiKey:   strings.TrimSpace(cfg.APIKey),
		timeout:  cfg.Timeout,
		maxBytes: cfg.MaxBytes,
		http: &http.Client{
			Transport: transport,
			// A redirect would take the conversation, and perhaps the key, to a
			// place that nobody configured.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if c.timeout <= 0 {
		c.timeout = 2 * time.Minute
	}
	if c.maxBytes <= 0 {
		c.maxBytes = 4 << 20
	}
	c.maxBytes = min(c.maxBytes, math.MaxInt64/streamed) // room to count on
	return c, nil
}

// Close closes the connections that are kept for the next request.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// errTimeout is the cause by which a call knows its own deadline from one that
// the caller's ctx brought along.
var errTimeout = errors.New("timeout")

// Complete sends req and returns the reply. It fails with a [*StatusError] for
// a status other than 200, however the body behind it goes on, with the error
// of ctx when that is done, with both where both are known, and with an error
// that says what is wrong when the endpoint can't be reached, takes too long,
// or sends what isn't a chat completion.
func (c *Client) Complete(ctx context.Context, req Request) (Reply, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return Reply{}, notJSON(err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.timeout, errTimeout)
	defer cancel()
	reply, err := c.complete(limited, cancel, body)
	if err != nil {
		return Reply{}, c.failure(ctx, limited, err, "sent no complete reply within %v")
	}
	return reply, nil
}

func (c *Client) complete(ctx context.Context, cancel func(), body []byte) (Reply, error) {
	resp, err := c.send(ctx, body, "application/json")
	if err != nil {
		return Reply{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		defer time.AfterFunc(errorWait, cancel).Stop()
		return Reply{}, c.statusError(resp)
	}
	return c.whole(resp.Body)
}

// failure is what a call returns for err. limited is its ctx with the deadline,
// and late says that it has passed.
func (c *Client) failure(ctx, limited context.Context, err error, late string) error {
	_, refused := errors.AsType[*StatusError](err)
	switch {
	case refused && ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	case refused:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(context.Cause(limited), errTimeout):
		return c.errorf(late, c.timeout)
	}
	return err
}

// send posts body and returns the response, whatever its status.
func (c *Client) send(ctx context.Context, body []byte, accept string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, c.errorf("can't be asked: %w", withoutURL(err))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept)
	if c.apiKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.apiKey)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.errorf("can't be reached: %w", withoutURL(err))
	}
	return resp, nil
}

// whole reads a reply that comes in one.
func (c *Client) whole(body io.Reader) (Reply, error) {
	raw, err := io.ReadAll(io.LimitReader(body, c.maxBytes+1))
	switch {
	case err != nil:
		return Reply{}, c.brokeOff(err)
	case int64(len(raw)) > c.maxBytes:
		return Reply{}, c.tooLong()
	}
	return c.decode(raw)
}

// decode reads the body of a 200.
func (c *Client) decode(raw []byte) (Reply, error) {
	var r response
	if err := json.Unmarshal(raw, &r); err != nil {
		return Reply{}, c.errorf("sent a reply that isn't a chat completion (%s): %s", problem(err), c.excerpt(raw))
	}
	if r.Error != nil {
		return Reply{}, c.sentError(r.Error.Message)
	}
	if len(r.Choices) == 0 {
		return Reply{}, c.errorf("sent a reply without choices")
	}
	choice := r.Choices[0]
	reply := Reply{
		ToolCalls:    choice.Message.ToolCalls,
		FinishReason: choice.FinishReason,
		TokensIn:     r.Usage.PromptTokens,
		TokensOut:    r.Usage.CompletionTokens,
	}
	if choice.Message.Content != nil {
		reply.Content = *choice.Message.Content
	}
	return c.checked(reply)
}

// checked refuses a reply that is no answer.
func (c *Client) checked(reply Reply) (Reply, error) {
	// What was cut off or censored must not pass for an answer. Tool calls are
	// told by their presence: many servers say "stop" with them.
	switch {
	case reply.FinishReason == "length":
		return Reply{}, c.errorf("cut its reply off: the model's token limit was reached")
	case reply.FinishReason == "content_filter":
		return Reply{}, c.errorf("withheld its reply: content filter")
	case reply.Content == "" && len(reply.ToolCalls) == 0:
		return Reply{}, c.errorf("sent an empty reply: neither text nor tool calls")
	}
	return reply, nil
}
