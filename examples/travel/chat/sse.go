// Server-sent events, as the HTML standard has them: html.spec.whatwg.org,
// section 9.2.6, "Interpreting an event stream".

package chat

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// event is what a server sent at once. The standard's ids and delays are for
// clients that connect again, which this one doesn't.
type event struct {
	kind string // "" unless the server named one
	data []byte // valid until the next event is read
}

// events reads events from a stream. It hands an event over as soon as its last
// byte has come, and holds no more than twice max bytes.
type events struct {
	r       *bufio.Reader
	max     int64 // bytes of a line, and of an event's data
	line    []byte
	data    []byte
	begun   bool // the first line is behind, and with it the byte order mark
	afterCR bool // a line feed now belongs to the line that has ended
}

// errEventTooLong says that a line or the data of an event is over the bound.
var errEventTooLong = errors.New("event too long")

func newEvents(r io.Reader, limit int64) *events {
	return &events{r: bufio.NewReader(r), max: limit}
}

// next returns the next event that has data: the standard passes over the
// others. What stands at the end without the empty line that would complete it
// is no event. It fails with io.EOF at the end, with errEventTooLong, and with
// the error of the reader.
func (e *events) next() (event, error) {
	var kind string
	e.data = e.data[:0]
	some := false // data can be empty and there
	for {
		if err := e.readLine(); err != nil {
			return event{}, err
		}
		if len(e.line) == 0 {
			if some {
				return event{kind: kind, data: e.data[:len(e.data)-1]}, nil
			}
			kind = ""
			continue
		}
		name, value, _ := bytes.Cut(e.line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) { // a comment has no name
		case "event":
			kind = string(value)
		case "data":
			if int64(len(e.data)+len(value)) > e.max {
				return event{}, errEventTooLong
			}
			e.data = append(append(e.data, value...), '\n')
			some = true
		}
	}
}

// readLine reads a line, without its end, into e.line. Lines end with CR, LF or
// both. A CR ends one at once, since the LF may be long in coming. It is never
// known whether bytes at the end of the stream are a whole line, so they are
// none.
func (e *events) readLine() error {
	e.line = e.line[:0]
	for {
		b, err := e.r.ReadByte()
		if err != nil {
			return err
		}
		switch {
		case b == '\n' && e.afterCR:
			e.afterCR = false
			continue
		case b == '\n' || b == '\r':
			e.afterCR = b == '\r'
			if !e.begun {
				e.begun = true
				e.line = bytes.TrimPrefix(e.line, []byte("\uFEFF"))
			}
			return nil
		case int64(len(e.line)) >= e.max:
			return errEventTooLong
		}
		e.afterCR = false
		e.line = append(e.line, b)
	}
}
