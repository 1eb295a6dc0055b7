package desk_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
)

func TestTicket_roundTrip(t *testing.T) {
	t.Parallel()
	d := desk.New(desk.Memory())
	for _, c := range [][2]string{{"", ""}, {"q", "abc"}, {"q\x00|.", strings.Repeat("ü", 5000)}} {
		text := d.Ticket(desk.Record{Question: hooks.Question{ID: c[0], Digest: c[1]}}, []byte("key"))
		assert.Regexp(t, `^[A-Za-z0-9_-]+$`, text)
		id, digest, err := desk.OpenTicket(text, []byte("key"))
		require.NoError(t, err)
		assert.Equal(t, c[0], id)
		assert.Equal(t, c[1], digest)
	}
}

// TestTicket_parts: ID and digest can't run together.
func TestTicket_parts(t *testing.T) {
	t.Parallel()
	d := desk.New(desk.Memory())
	ticket := func(id, digest string) string {
		return d.Ticket(desk.Record{Question: hooks.Question{ID: id, Digest: digest}}, []byte("key"))
	}
	assert.NotEqual(t, ticket("ab", "c"), ticket("a", "bc"))
}

func TestOpenTicket_refuses(t *testing.T) {
	t.Parallel()
	key := []byte("key")
	text := desk.New(desk.Memory()).Ticket(desk.Record{Question: hooks.Question{ID: "qq", Digest: "abc"}}, key)
	wrong := map[string]string{
		"empty": "", "short": text[:10], "longer": text + "A", "padded": text + "=", "line": text[:5] + "\n" + text[5:],
		"no base64": "?" + text[1:],
	}
	for i := range text { // each bit that the text has counts, those of the last letter too
		for _, letter := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
			if other := text[:i] + string(letter) + text[i+1:]; other != text {
				wrong[other] = other
			}
		}
	}
	for name, text := range wrong {
		id, digest, err := desk.OpenTicket(text, key)
		assert.Error(t, err, name)
		assert.Empty(t, id+digest, name)
	}
	for _, other := range []string{"", "kez", "key2"} {
		_, _, err := desk.OpenTicket(text, []byte(other))
		assert.Error(t, err, "key %q", other)
	}
}

func FuzzOpenTicket(f *testing.F) {
	d, key := desk.New(desk.Memory()), []byte("key")
	f.Add("", "q", "abc")
	f.Add("AQFxA2FiYw", "", "")
	f.Fuzz(func(t *testing.T, text, id, digest string) {
		made := d.Ticket(desk.Record{Question: hooks.Question{ID: id, Digest: digest}}, key)
		gotID, gotDigest, err := desk.OpenTicket(made, key)
		require.NoError(t, err)
		require.Equal(t, []string{id, digest}, []string{gotID, gotDigest})
		if gotID, gotDigest, err := desk.OpenTicket(text, key); err == nil {
			again := d.Ticket(desk.Record{Question: hooks.Question{ID: gotID, Digest: gotDigest}}, key)
			require.Equal(t, text, again, "one ticket has one spelling")
		}
	})
}
