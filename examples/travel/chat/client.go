// Package chat is a client of endpoints that speak the OpenAI chat-completions
// format: OpenAI, Ollama, LM Studio, vLLM, a proxy. It sends one request, waits
// for the whole reply and doesn't retry.
package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config says which endpoint a [Client] talks to.
type Config struct {
	BaseURL  string        // as in "http://localhost:11434/v1"
	APIKey   string        // sent as a bearer token, if set; never part of an error
	Timeout  time.Duration // of one request with its reply; 2 minutes if 0
	MaxBytes int64         // of one reply; 4 MiB if 0
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
	return c, nil
}

// Close closes the connections that are kept for the next request.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// errTimeout is the cause by which Complete knows its own deadline from one
// that the caller's ctx brought along.
var errTimeout = errors.New("timeout")

// Complete sends req and returns the reply. It fails with a [*StatusError] for
// a status other than 200, however the body behind it goes on, with the error
// of ctx when that is done, with both where both are known, and with an error
// that says what is wrong when the endpoint can't be reached, takes too long,
// or sends what isn't a chat completion.
func (c *Client) Complete(ctx context.Context, req Request) (Reply, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return Reply{}, fmt.Errorf("the request can't be written as JSON: %w", err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.timeout, errTimeout)
	defer cancel()
	reply, err := c.post(limited, body)
	_, refused := errors.AsType[*StatusError](err)
	switch {
	case err == nil:
		return reply, nil
	case refused && ctx.Err() != nil:
		return Reply{}, fmt.Errorf("%w: %w", ctx.Err(), err)
	case refused:
		return Reply{}, err
	case ctx.Err() != nil:
		return Reply{}, ctx.Err()
	case errors.Is(context.Cause(limited), errTimeout):
		return Reply{}, c.errorf("sent no complete reply within %v", c.timeout)
	}
	return Reply{}, err
}

func (c *Client) post(ctx context.Context, body []byte) (Reply, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return Reply{}, c.errorf("can't be asked: %w", withoutURL(err))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if c.apiKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.apiKey)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return Reply{}, c.errorf("can't be reached: %w", withoutURL(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		defer time.AfterFunc(errorWait, cancel).Stop()
		return Reply{}, c.statusError(resp)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, c.maxBytes+1))
	switch {
	case err != nil:
		return Reply{}, c.errorf("broke off its reply: %w", err)
	case int64(len(raw)) > c.maxBytes:
		return Reply{}, c.errorf("sent a reply of more than %d bytes", c.maxBytes)
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
		return Reply{}, c.errorf("sent an error: %s", c.excerpt([]byte(r.Error.Message)))
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
