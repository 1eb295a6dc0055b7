// What goes wrong, in one line that a person can act on. No error holds the API
// key or more than a short piece of what a server sent.

package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// StatusError is a reply with a status other than 200. It never holds the API
// key.
type StatusError struct {
	Endpoint   string // without user, password and query
	Status     int
	RetryAfter int    // seconds that the endpoint asks to wait, 0 if it didn't say
	Excerpt    string // the beginning of what the endpoint said
}

// Error tells the status, what to do about it, and what the endpoint said.
func (e *StatusError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the model endpoint %s answered %d %s", e.Endpoint, e.Status, http.StatusText(e.Status))
	switch {
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		b.WriteString(" (check the API key)")
	case e.Status == http.StatusNotFound:
		b.WriteString(" (check the base URL and the model)")
	case e.Status == http.StatusTooManyRequests && e.RetryAfter > 0:
		fmt.Fprintf(&b, " (retry after %d s)", e.RetryAfter)
	case e.Status == http.StatusTooManyRequests:
		b.WriteString(" (too many requests or no quota left: retry later)")
	case e.Status >= 300 && e.Status < 400:
		b.WriteString(" (redirects aren't followed: check the base URL)")
	}
	if e.Excerpt != "" {
		b.WriteString(": " + e.Excerpt)
	}
	return b.String()
}

const (
	maxErrorBody = 4 << 10 // bytes of an error's body that are looked at
	maxExcerpt   = 200     // characters of it that are told
)

func (c *Client) statusError(resp *http.Response) error {
	e := &StatusError{Endpoint: c.name, Status: resp.StatusCode}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		e.RetryAfter = s
	}
	// Read on by one key, so that a key which begins within the limit is whole.
	raw, err := io.ReadAll(io.LimitReader(resp.Body, int64(maxErrorBody+len(c.apiKey))))
	if err != nil { // what came is enough
		raw = c.withoutCutKey(raw)
	}
	var body struct{ Error apiError }
	if json.Unmarshal(raw, &body) == nil && body.Error.Message != "" {
		raw = []byte(body.Error.Message)
	}
	e.Excerpt = c.excerpt(raw)
	return e
}

// withoutCutKey drops the beginning of a key from the end of a body that was
// cut off there.
func (c *Client) withoutCutKey(raw []byte) []byte {
	for n := min(len(c.apiKey), len(raw)); n > 0; n-- {
		if bytes.HasSuffix(raw, []byte(c.apiKey[:n])) {
			return raw[:len(raw)-n]
		}
	}
	return raw
}

// excerpt makes one short line of raw, without the key: servers like to quote
// the one they refuse.
func (c *Client) excerpt(raw []byte) string {
	raw = raw[:min(len(raw), maxErrorBody+len(c.apiKey))]
	s := string(raw)
	if c.apiKey != "" {
		s = strings.ReplaceAll(s, c.apiKey, "[API key]")
	}
	s = strings.Join(strings.FieldsFunc(s[:min(len(s), maxErrorBody)], func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if runes := []rune(s); len(runes) > maxExcerpt {
		s = string(runes[:maxExcerpt]) + "…"
	}
	return s
}

func (c *Client) errorf(format string, args ...any) error {
	return fmt.Errorf("the model endpoint %s "+format, append([]any{c.name}, args...)...)
}

// The failures that a reply can have however it comes.

func (c *Client) brokeOff(err error) error { return c.errorf("broke off its reply: %w", err) }

func (c *Client) tooLong() error { return c.errorf("sent a reply of more than %d bytes", c.maxBytes) }

func (c *Client) sentError(message string) error {
	return c.errorf("sent an error: %s", c.excerpt([]byte(message)))
}

func notJSON(err error) error { return fmt.Errorf("the request can't be written as JSON: %w", err) }

// withoutURL drops the URL, which can hold a password or a key, from an error
// of net/http.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// problem says why a body couldn't be decoded, in a few words.
func problem(err error) string {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if t.Field == "" {
			return "it is a JSON " + t.Value
		}
		return fmt.Sprintf("%s is a JSON %s", t.Field, t.Value)
	}
	return "it isn't JSON"
}
