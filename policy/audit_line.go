package policy

// A record as a line of JSON. It is written field by field, since a line is written in
// front of each call and behind it; package encoding/json reads it.

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// line returns the record as JSON, without the mac behind it.
func (r *auditRecord) line() string {
	b := make([]byte, 0, 512)
	b = append(b, `{"seq":`...)
	b = strconv.AppendInt(b, r.Seq, 10)
	b = append(b, `,"time":"`...)
	b = r.Time.AppendFormat(b, time.RFC3339Nano)
	b = append(b, '"')
	for _, field := range [...]struct{ name, value string }{
		{"kind", r.Kind}, {"point", r.Point}, {"run", r.Run}, {"root", r.Root}, {"tenant", r.Tenant}, {"role", r.Role},
		{"call", r.Call}, {"tool", r.Tool}, {"model", r.Model}, {"input", r.Input}, {"result", r.Result},
		{"reason", r.Reason}, {"source", r.Source}, {"error", r.Error},
	} {
		if field.value != "" {
			b = appendField(b, field.name, field.value)
		}
	}
	b = appendField(b, "prev", r.Prev)
	return string(append(b, '}'))
}

func appendField(b []byte, name, value string) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	if plainJSON(value) {
		b = append(b, '"')
		b = append(b, value...)
		return append(b, '"')
	}
	return append(b, quoteJSON(value)...)
}

// plainJSON reports whether a text stands in JSON as it is.
func plainJSON(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
