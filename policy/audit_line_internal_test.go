package policy

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The line is what package encoding/json writes of the record, in the same order.
func TestAuditRecord_lineIsItsJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 2, 3, 4, 5, 678, time.UTC)
	for _, text := range []string{"", "plain", `"quoted" \ <&>`, "\n\t\x00\x7f", "검색\u2028", "bad \xff bytes"} {
		rec := auditRecord{Seq: 7, Time: at}
		v := reflect.ValueOf(&rec).Elem()
		for _, f := range v.Fields() {
			if f.Kind() == reflect.String {
				f.SetString(text)
			}
		}
		want, err := encodeLine(rec)
		require.NoError(t, err)
		got := rec.line()
		if text == "" { // a record has a kind
			got = rec.withKind("intent").line()
			want, err = encodeLine(rec.withKind("intent"))
			require.NoError(t, err)
		}
		assert.Equal(t, want, got)
	}
}

func (r auditRecord) withKind(kind string) *auditRecord {
	r.Kind = kind
	return &r
}

func FuzzAuditRecord_line(f *testing.F) {
	f.Add("a", `"`, "\xff")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		rec := auditRecord{Kind: "intent", Run: a, Reason: b, Prev: c, Time: time.Unix(1, 0).UTC()}
		want, err := encodeLine(rec)
		require.NoError(t, err)
		require.Equal(t, want, rec.line())
		var back auditRecord
		require.NoError(t, json.Unmarshal([]byte(rec.line()), &back))
		if utf8.ValidString(a) {
			require.Equal(t, a, back.Run)
		}
	})
}
