// Server-sent events are read as the HTML standard has it, however the bytes
// arrive. The parser is no part of the package's surface, so the tests are
// inside.

package chat

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// read returns the events of r as "kind|data", and the error at their end.
func read(r io.Reader, limit int64) ([]string, error) {
	events := newEvents(r, limit)
	var got []string
	for {
		e, err := events.next()
		if err != nil {
			return got, err
		}
		got = append(got, e.kind+"|"+string(e.data))
	}
}

// cut is a reader of a text that arrives in two parts.
func cut(text string, at int) io.Reader {
	return io.MultiReader(strings.NewReader(text[:at]), strings.NewReader(text[at:]))
}

func TestEvents_standard(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		stream string
		want   []string
	}{
		"nothing":                   {"", nil},
		"one":                       {"data: a\n\n", []string{"|a"}},
		"without a space":           {"data:a\n\n", []string{"|a"}},
		"one space is dropped":      {"data:  a \n\n", []string{"| a "}},
		"colons in the value":       {"data: a: b\n\n", []string{"|a: b"}},
		"data of several lines":     {"data: a\ndata: b\ndata:\n\n", []string{"|a\nb\n"}},
		"empty data is data":        {"data\n\ndata:\n\n", []string{"|", "|"}},
		"two empty lines of data":   {"data\ndata\n\n", []string{"|\n"}},
		"comments":                  {": hello\ndata: a\n:\n: data: no\ndata: b\n\n:\n\n", []string{"|a\nb"}},
		"CRLF":                      {"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", []string{"|a\nb", "|c"}},
		"CR":                        {"data: a\rdata: b\r\rdata: c\r\r", []string{"|a\nb", "|c"}},
		"mixed line ends":           {"data: a\r\n\ndata: b\n\r\ndata: c\r\rdata: d\n\r", []string{"|a", "|b", "|c", "|d"}},
		"CR, CRLF is an empty line": {"data: a\r\r\n", []string{"|a"}},
		"many empty lines":          {"\n\n\r\n\r\rdata: a\n\n\n\n", []string{"|a"}},
		"a name":                    {"event: error\ndata: a\n\ndata: b\n\n", []string{"error|a", "|b"}},
		"a name behind the data":    {"data: a\nevent: x\nevent:y\n\n", []string{"y|a"}},
		"a name without data":       {"event: error\n\ndata: b\n\n", []string{"|b"}},
		"other fields":              {"id: 1\nretry: 10\nDATA: no\n data: no\ndatas: no\n{\"a\":1}\ndata: a\n\n", []string{"|a"}},
		"byte order mark":           {"\uFEFFdata: a\n\n", []string{"|a"}},
		"a mark is dropped once":    {"\uFEFF\uFEFFdata: a\n\ndata: b\n\n", []string{"|b"}},
		"a mark in the middle":      {"data: a\n\n\uFEFFdata: b\n\n", []string{"|a"}},
		"no empty line at the end":  {"data: a\n\ndata: b\n", []string{"|a"}},
		"no line end at the end":    {"data: a\n\ndata: b", []string{"|a"}},
		"characters of any length":  {"data: añ天😀\n\n", []string{"|añ天😀"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, reference(tt.stream), "what the fuzz test compares with")
			for at := range len(tt.stream) + 1 {
				got, err := read(cut(tt.stream, at), 1000)
				require.ErrorIs(t, err, io.EOF)
				require.Equal(t, tt.want, got, "cut at %d", at)
			}
			got, err := read(iotest.OneByteReader(strings.NewReader(tt.stream)), 1000)
			require.ErrorIs(t, err, io.EOF)
			assert.Equal(t, tt.want, got)
		})
	}
}

// An event must not wait for the byte behind it, which may be long in coming.
func TestEvents_atOnce(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"LF": "data: a\n\n", "CRLF": "data: a\r\n\r\n", "CR": "data: a\r\r", "CR of CRLF": "data: a\r\n\r"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, w := io.Pipe()
			defer r.Close()
			go func() { _, _ = io.WriteString(w, text) }() // and nothing more
			e, err := newEvents(r, 1000).next()
			require.NoError(t, err)
			assert.Equal(t, "a", string(e.data))
		})
	}
}

func TestEvents_bounds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	tests := map[string]struct {
		stream string
		max    int64
		want   error
	}{
		"a line that fits":       {"data: " + long + "\n\n", 106, io.EOF},
		"a line that doesn't":    {"data: " + long + "\n\n", 105, errEventTooLong},
		"a line without end":     {": " + strings.Repeat(long, 100), 1000, errEventTooLong},
		"many lines that fit":    {strings.Repeat("data: 3456789\n", 10) + "\n", 80, io.EOF},
		"many lines that don't":  {strings.Repeat("data: 3456789\n", 10) + "\n", 78, errEventTooLong},
		"many lines without any": {strings.Repeat("data\n", 100), 50, errEventTooLong},
		"many events":            {strings.Repeat("data: "+long+"\n\n", 100), 106, io.EOF},
		"many comments":          {strings.Repeat(": "+long+"\n", 100), 106, io.EOF},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read(strings.NewReader(tt.stream), tt.max)
			assert.ErrorIs(t, err, tt.want)
		})
	}
}

func TestEvents_readerFails(t *testing.T) {
	t.Parallel()
	failure := errors.New("cable cut")
	got, err := read(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(failure)), 1000)
	require.ErrorIs(t, err, failure)
	assert.Equal(t, []string{"|a"}, got)
}

// reference reads a whole stream at once, in the plainest way there is.
func reference(stream string) []string {
	stream = strings.TrimPrefix(stream, "\uFEFF")
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream), "\n")
	var events, data []string
	kind := ""
	for _, line := range lines[:len(lines)-1] { // the last has no end
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				events = append(events, kind+"|"+strings.Join(data, "\n"))
			}
			kind, data = "", nil
		case name == "data":
			data = append(data, value)
		case name == "event":
			kind = value
		}
	}
	return events
}

func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "event: x\r\ndata: a\r\n\r\n", ":\rdata\r\r", "\uFEFFdata: a\n\n", "data: a\r\n\r", "\n\r\r\n", "data: {\"choices\":[]}\n\ndata: [DONE]\n\n",
	} {
		f.Add([]byte(seed), uint(3))
	}
	f.Fuzz(func(t *testing.T, stream []byte, at uint) {
		want := reference(string(stream))
		for name, r := range map[string]io.Reader{
			"whole":        bytes.NewReader(stream),
			"cut":          cut(string(stream), int(at%uint(len(stream)+1))),
			"byte by byte": iotest.OneByteReader(bytes.NewReader(stream)),
		} {
			got, err := read(r, 1<<20)
			require.ErrorIs(t, err, io.EOF)
			require.Equal(t, want, got, name)
		}
		_, err := read(bytes.NewReader(stream), 10)
		if !errors.Is(err, errEventTooLong) {
			require.ErrorIs(t, err, io.EOF)
		}
	})
}
