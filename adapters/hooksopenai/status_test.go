package hooksopenai_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/adapters/hooksopenai"
)

// An around hook that retries sees the status and the wait by methods, streamed or not,
// and the error is still the SDK's.
func TestComplete_tellsStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		after  string
		wait   time.Duration
	}{
		"busy":           {http.StatusTooManyRequests, "7", 7 * time.Second},
		"half a second":  {http.StatusServiceUnavailable, "0.5", 500 * time.Millisecond},
		"a time gone by": {http.StatusServiceUnavailable, "Mon, 02 Jan 2006 15:04:05 GMT", 0},
		"no wait":        {http.StatusBadRequest, "", 0},
		"no number":      {http.StatusBadGateway, "soon", 0},
	} {
		for _, onText := range []func(string){nil, func(string) {}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if c.after != "" {
						w.Header().Set("Retry-After", c.after)
					}
					w.WriteHeader(c.status)
				}))
				defer server.Close()
				client := openai.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("none"), option.WithMaxRetries(0))
				reg := hooks.NewRegistry()
				seen := 0
				hooks.Around(hooks.ModelBody, func(ctx context.Context, _ *hooks.ModelCall, next func(context.Context) error) error {
					err := next(ctx)
					var told interface {
						StatusCode() int
						RetryAfter() time.Duration
					}
					if assert.ErrorAs(t, err, &told) {
						assert.Equal(t, c.status, told.StatusCode())
						assert.Equal(t, c.wait, told.RetryAfter())
					}
					seen++
					return err
				}, hooks.In(reg))
				_, err := hooksopenai.Complete(hooks.WithScope(t.Context(), reg), client, openai.ChatCompletionNewParams{
					Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
				}, nil, onText)
				require.Error(t, err)
				_, ok := errors.AsType[*openai.Error](err)
				assert.True(t, ok)
				assert.Equal(t, 1, seen)
			})
		}
	}
}
