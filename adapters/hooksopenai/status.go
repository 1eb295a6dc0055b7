package hooksopenai

// What the errors of the SDK tell about another try.

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/openai/openai-go/v3"
)

// statusError is an *openai.Error that tells its status by a method, as policies that
// retry ask for: in the SDK it is a field.
type statusError struct {
	err    error // what the SDK returned
	answer *openai.Error
}

// withStatus returns err so that its status can be asked for, if it has one.
func withStatus(err error) error {
	if answer, ok := errors.AsType[*openai.Error](err); ok && answer != nil {
		return &statusError{err, answer}
	}
	return err
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// StatusCode returns the status of the response.
func (e *statusError) StatusCode() int { return e.answer.StatusCode }

// RetryAfter returns how long the server asks to wait, 0 if it doesn't: it may say so in
// seconds or as a time.
func (e *statusError) RetryAfter() time.Duration {
	if e.answer.Response == nil {
		return 0
	}
	text := e.answer.Response.Header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 && seconds < 1e9 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
