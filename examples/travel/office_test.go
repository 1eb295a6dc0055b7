package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/examples/travel/saved"
)

func TestOffice_bookingsAreKept(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bookings.json")
	first := new(office)
	require.NoError(t, first.keepIn(file))
	_, err := first.bookTicket(t.Context(), map[string]any{"train": 303.0, "seat_class": "tourist"})
	require.NoError(t, err)

	second := new(office) // in another process
	require.NoError(t, second.keepIn(file))
	assert.Equal(t, first.Bookings(), second.Bookings())
	text, err := second.bookTicket(t.Context(), map[string]any{"train": 265.0, "seat_class": "first"})
	require.NoError(t, err)
	assert.Contains(t, text, `"reference":"R002-f"`)
	assert.Len(t, second.Bookings(), 2)
}

func TestOffice_nothingIsBookedThatIsNotKept(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "office")
	require.NoError(t, os.Mkdir(dir, 0o700))
	o := new(office)
	require.NoError(t, o.keepIn(filepath.Join(dir, "bookings.json")))
	require.NoError(t, os.Remove(dir))
	_, err := o.bookTicket(t.Context(), map[string]any{"train": 303.0, "seat_class": "tourist"})
	require.ErrorContains(t, err, "nothing was booked: ")
	assert.Empty(t, o.Bookings())
}

// Whatever rules there are, a run with a document number isn't saved.
func TestFolder_savesNoDocument(t *testing.T) {
	t.Parallel()
	k := &folder{dir: filepath.Join(t.TempDir(), "state")}
	run := saved.Run{RunID: "r", Model: "m", Turn: 1, History: []hooks.Message{{Role: "user", Content: "I am DNI 30.123.456."}}}
	require.EqualError(t, k.save(run), "the run isn't saved: it would hold a document number")
	assert.NoDirExists(t, k.dir)
	run.History[0].Content = "I am DNI ***."
	require.NoError(t, k.save(run))
	assert.Equal(t, "r", k.run.RunID)
}
