package policy

// Which errors say of themselves that another try is worth it.

import (
	"io"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/loophooks/hooks"
)

// Temporary returns an error with the text of err that [Retry] tries again, of a
// tool too: who returns it says that nothing has happened, or that it may happen
// twice. If after is positive, the next try is made after that time and not
// before, as a Retry-After header asks for; otherwise Retry chooses. The error has the
// methods Temporary and RetryAfter, and wraps err. A nil err gives nil.
func Temporary(err error, after time.Duration) error {
	if err == nil {
		return nil
	}
	return &temporaryError{err, max(after, 0)}
}

// temporaryError is the mark of Temporary.
type temporaryError struct {
	err   error
	after time.Duration
}

func (e *temporaryError) Error() string             { return e.err.Error() }
func (e *temporaryError) Unwrap() error             { return e.err }
func (e *temporaryError) Temporary() bool           { return true }
func (e *temporaryError) RetryAfter() time.Duration { return e.after }

// statusOverloaded is what some providers answer beside the statuses of HTTP.
const statusOverloaded = 529

var temporaryStatuses = []int{
	http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
	http.StatusServiceUnavailable, http.StatusGatewayTimeout, statusOverloaded,
}

// isTemporary is the If of Retry where none is given.
func isTemporary(c any, err error) bool {
	_, tool := c.(*hooks.ToolCall)
	if _, marked := findError[*temporaryError](err); marked {
		return true
	}
	timedOut := anyError(err, func(err error) bool {
		e, ok := err.(interface{ Timeout() bool })
		return ok && e.Timeout()
	})
	if tool && timedOut {
		return false // what the tool began may have happened
	}
	if e, ok := findError[interface{ Temporary() bool }](err); ok && e.Temporary() {
		return true
	}
	if e, ok := findError[interface{ StatusCode() int }](err); ok && slices.Contains(temporaryStatuses, e.StatusCode()) {
		return true
	}
	return !tool && (timedOut || isError(err, syscall.ECONNRESET) || isError(err, syscall.ECONNREFUSED) || isError(err, io.ErrUnexpectedEOF))
}

// askedWait returns the wait that err asks for, 0 for none.
func askedWait(err error) (wait time.Duration) {
	anyError(err, func(err error) bool {
		if e, ok := err.(interface{ RetryAfter() time.Duration }); ok {
			wait = max(e.RetryAfter(), 0)
		}
		return wait > 0
	})
	return wait
}
