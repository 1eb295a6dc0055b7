// What counts as a document number in text and in JSON, and what doesn't.

package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/policy"
)

var documentTexts = []struct{ in, want string }{
	{"DNI 30.123.456", "DNI ***"},
	{"DNI 30123456", "DNI ***"},
	{"for Ana (dni: 5.123.456), window", "for Ana (dni: ***), window"},
	{"D.N.I. N° 30 123 456.", "D.N.I. N° ***."},
	{"D. N. I. 30.123.456", "D. N. I. ***"},
	{"D-N-I 30.123.456", "D-N-I ***"},
	{"DNI 30\u00a0123\u00a0456", "DNI ***"},
	{"**DNI** 30-123-456", "**DNI** ***"},
	{"| DNI | 30.123.456 |", "| DNI | *** |"},
	{"DNI\n30.123.456", "DNI\n***"},
	{"DNI número 30123456", "DNI número ***"},
	{"DNI nu\u0301mero 30123456", "DNI nu\u0301mero ***"},
	{"DNI nro. 30123456", "DNI nro. ***"},
	{"my DNI is 30.123.456", "my DNI is ***"},
	{"mi dni es 30.123.456", "mi dni es ***"},
	{"dnı 30.123.456", "dnı ***"},
	{"DNI ３０.１２３.４５６", "DNI ***"},
	{"DNI 301234567890", "DNI ***"},
	{"DNI 20-30123456-7", "DNI ***"},
	{"DNI 30123456 28999888", "DNI ***"},
	{"DNIs 30123456, 28999888 y 27.111.222", "DNIs ***"},
	{"DNI30123456DNI28999888", "DNI***DNI***"},
	{"DNI 3 0 1 2 3 4 5 6", "DNI ***"},
	{"DNI 30-12-34-56", "DNI ***"},
	{"DNI 30 . 123 . 456", "DNI ***"},
	{"DNI 30'123'456", "DNI ***"},
	{`{"dni":"30.123.456","fare":24500}`, `{"dni":"***","fare":24500}`},
	{`{"traveller_dni":"30.123.456"}`, `{"traveller_dni":"***"}`},
	{`{"travellerDni":"30.123.456"}`, `{"travellerDni":"***"}`},
	{`{"dniNumber":"30.123.456"}`, `{"dniNumber":"***"}`},
	{`{"type":"DNI","number":"30.123.456"}`, `{"type":"DNI","number":"***"}`},
	{"DNI, 30.123.456", "DNI, ***"},
	{`"{\"dni\":\"30.123.456\"}"`, `"{\"dni\":\"***\"}"`},
	{`{"note":"DNI\n30.123.456"}`, `{"note":"DNI\n***"}`},
	{`{"note":"hello\nDNI 30.123.456"}`, `{"note":"hello\nDNI ***"}`},
	{`{"note":"DNI\u002030.123.456"}`, `{"note":"DNI\u0020***"}`},
	{`{"note":"\u0044NI 30\u200b123\u200b456"}`, `{"note":"\u0044NI ***"}`},
	{`{"note":"DNI \u0033\u0030.123.45\u0036!"}`, `{"note":"DNI ***!"}`},
	{`"{\"note\":\"DNI 30\\u2013123\\u2013456\"}"`, `"{\"note\":\"DNI ***\"}"`},
	{`DNI \ud835\udfdb0123456`, `DNI ***`},
	{"我的DNI: 30.123.456。", "我的DNI: ***。"},
	{"DNI \xff30\xff123456", "DNI \xff***"},
	{"DNI ***", "DNI ***"},
	{"DNI pending, train 303", "DNI pending, train 303"},
	{"DNI pending: 24.500 pesos", "DNI pending: 24.500 pesos"},
	{"DNI 30123456, 24.500 pesos, train 303", "DNI ***, 24.500 pesos, train 303"},
	{"the fare is 30.123.456", "the fare is 30.123.456"},
	{"sundni 30.123.456", "sundni 30.123.456"},
	{`a \ud835 \u12 \`, `a \ud835 \u12 \`},
	{"", ""},
}

func TestHideDocuments(t *testing.T) {
	t.Parallel()
	for _, tt := range documentTexts {
		assert.Equal(t, tt.want, policy.HideDocuments(tt.in), "%q", tt.in)
	}
}

// Every invisible character, dash, space and digit there is.
func TestHideDocuments_characters(t *testing.T) {
	t.Parallel()
	const hidden = "DNI ***"
	count := map[string]int{}
	see := func(kind, text string) {
		t.Helper()
		count[kind]++
		if got := policy.HideDocuments(text); !strings.Contains(got, "***") || strings.Contains(got, "456") {
			t.Errorf("%s: %+q is hidden as %+q", kind, text, got)
		}
	}
	for r := rune(1); r <= 0xe0fff; r++ {
		if r == 0x20000 {
			r = 0xe0000 // ideographs, and nothing
		}
		c := string(r)
		switch {
		case unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me, unicode.Other_Default_Ignorable_Code_Point):
			see("unseen", "D"+c+"N"+c+"I"+c+"30"+c+".123"+c+".4"+c+"56")
			see("unseen in JSON", escaped("DNI 30"+c+"123456"))
		case unicode.In(r, unicode.Pd) || r == '\u2212':
			see("dash", "DNI"+c+"30"+c+"123"+c+"456")
			see("dash in JSON", escaped("DNI 30"+c+"123"+c+"456"))
		case unicode.In(r, unicode.Z):
			see("space", "DNI"+c+"30"+c+"123"+c+"456")
		case unicode.In(r, unicode.Nd):
			see("digit", "DNI "+strings.Repeat(c, 8))
			see("digit in JSON", escaped("DNI "+strings.Repeat(c, 8)))
		case unicode.In(r, unicode.No):
			see("other digit", "DNI "+strings.Repeat(c, 8))
		}
	}
	for kind, least := range map[string]int{"unseen": 1500, "dash": 20, "space": 15, "digit": 600, "other digit": 500} {
		assert.Greater(t, count[kind], least, kind)
	}
	for _, letters := range []string{"ＤＮＩ", "ｄｎｉ", "𝐃𝐍𝐈", "𝔻ℕ𝕀", "ⒹⓃⒾ", "🄳🄽🄸", "DNÍ", "DŃI", "D\u0335N\u0335I\u0335", "ᴰᴺᴵ"} {
		see("letters", letters+" 30.123.456")
	}
	assert.Equal(t, hidden, policy.HideDocuments("DNI 30.123.456"))
}

// escaped is s as JSON that is all escapes, in a string that is quoted again.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > 0xffff {
			hi, lo := 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff
			fmt.Fprintf(&b, `\\u%04x\\u%04X`, hi, lo)
			continue
		}
		fmt.Fprintf(&b, `\\u%04x`, r)
	}
	return b.String()
}

// Text from outside mustn't hold up a run: time grows with its length alone.
func TestHideDocuments_longText(t *testing.T) {
	t.Parallel()
	const n = 1 << 18 // were it quadratic, this would take minutes
	begin := time.Now()
	for part, length := range map[string]int{`\`: 4 * n, "0": n, "\u200b": n, "DNI ": n / 8, "DNI 30.123.456 ": n / 8} {
		policy.HideDocuments(strings.Repeat(part, length/len(part)))
	}
	policy.HideInJSON(strings.Repeat(`{"dni":`, 5000) + "[" + strings.Repeat("1234567,", 500) + "1]" + strings.Repeat("}", 5000))
	assert.Less(t, time.Since(begin), time.Minute)
}

func TestHideInJSON(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{`{"dni":30123456,"fare":24500}`, `{"dni":"***","fare":24500}`},
		{`{"dni":[30123456,"28.999.888","none"]}`, `{"dni":["***","***","none"]}`},
		{`{"dni":{"n":30123456}}`, `{"dni":{"n":"***"}}`},
		{`{"dni":{"30123456":1}}`, `{"dni":{"***":1}}`},
		{`{"dni":"30\u200b123\u200b456 (Ana)"}`, `{"dni":"*** (Ana)"}`},
		{`{"dni":[1,2,3,4,5,6,7]}`, `{"hidden":"***"}`},
		{`{"DNI 30123456":1}`, `{"DNI ***":1}`},
		{`{"x":"\u0044NI 30123456","x":"fine"}`, `{"x":"\u0044NI ***","x":"fine"}`},
		{`["DNI 30123456",1234567]`, `["DNI ***",1234567]`},
		{`{"fare":30123456,"to":"a<b"}`, `{"fare":30123456,"to":"a<b"}`},
		{`{"to":"Rosario"} {"dni":30123456}`, `{"to":"Rosario"} {"dni":***}`},
		{`no JSON, DNI 30123456`, `no JSON, DNI ***`},
		{``, ``},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, policy.HideInJSON(tt.in), tt.in)
	}
}

func FuzzHideDocuments(f *testing.F) {
	for _, tt := range documentTexts {
		f.Add(tt.in)
	}
	f.Fuzz(func(t *testing.T, s string) {
		hidden := policy.HideDocuments(s)
		if again := policy.HideDocuments(hidden); again != hidden {
			t.Errorf("%q is hidden as %q and then as %q", s, hidden, again)
		}
		digits := 0 // an escape of one has one in it
		for _, r := range s {
			if unicode.IsNumber(r) || r > unicode.MaxASCII && !unicode.IsLetter(r) {
				digits++
			}
		}
		if digits < 7 && hidden != s {
			t.Errorf("%q holds no number and became %q", s, hidden)
		}
	})
}

func FuzzHideInJSON(f *testing.F) {
	for _, tt := range documentTexts {
		f.Add(tt.in)
	}
	f.Add(`{"dni":[30123456,"28.999.888",{"n":1.234567e9}]}`)
	f.Fuzz(func(t *testing.T, s string) {
		hidden := policy.HideInJSON(s)
		if json.Valid([]byte(s)) && !json.Valid([]byte(hidden)) {
			t.Errorf("%q is JSON, and %q isn't", s, hidden)
		}
		if again := policy.HideInJSON(hidden); again != hidden {
			t.Errorf("%q is hidden as %q and then as %q", s, hidden, again)
		}
	})
}

func TestDocuments_invisibleCharacters(t *testing.T) {
	t.Parallel()
	ctx, _ := under(t, policy.Documents)
	for _, text := range []string{"DNI\u200b30.123.456", "DNI 30\u2013123\u2013456", "DNI ٣٠١٢٣٤٥٦"} {
		var sent string
		m := &hooks.ModelCall{Messages: []hooks.Message{{Role: "user", Content: text}}}
		require.NoError(t, hooks.RunModel(ctx, m, func(_ context.Context, m *hooks.ModelCall) error {
			sent = m.Messages[0].Text()
			return nil
		}))
		assert.True(t, strings.HasSuffix(sent, "***"), "%q", sent)

		later := hooks.NewRegistry()
		hooks.On(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
			m.Messages[0].Parts = []hooks.Part{{Kind: "text", Text: "I am " + text[:3]}, {Kind: "text", Text: text[3:]}}
			return nil
		}, hooks.In(later))
		requireAbort(t, hooks.RunModel(hooks.WithScope(ctx, later), m, func(context.Context, *hooks.ModelCall) error {
			t.Error("the model was called")
			return nil
		}), "no document numbers")
	}
}
