package desk_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
)

func TestNew_refuses(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(){
		"no store":       func() { desk.New(nil) },
		"nil option":     func() { desk.New(desk.Memory(), nil) },
		"no expiry":      func() { desk.WithExpiry(0) },
		"past expiry":    func() { desk.WithExpiry(-time.Second) },
		"nil clock":      func() { desk.WithClock(nil) },
		"nil notify":     func() { desk.WithNotify(nil) },
		"nil authorizer": func() { desk.WithAuthorizer(nil) },
		"nil database":   func() { desk.SQL(nil) },
		"no ticket key":  func() { desk.New(desk.Memory()).Ticket(desk.Record{}, nil) },
	} {
		assert.Panics(t, f, name)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := desk.New(desk.Memory())
		_, err := d.Get(t.Context(), "q")
		require.ErrorIs(t, err, desk.ErrNotFound)
		q := asked(t, d)
		rec, err := d.Get(t.Context(), q.ID)
		require.NoError(t, err)
		assert.Equal(t, desk.Record{
			Question: *q, State: desk.Open, Version: 1,
			Created: time.Now().UTC(), Changed: time.Now().UTC(), Expires: time.Now().UTC().Add(24 * time.Hour),
		}, rec)
		time.Sleep(25 * time.Hour)
		rec, err = d.Get(t.Context(), q.ID)
		require.NoError(t, err)
		assert.Equal(t, desk.Expired, rec.State)
		assert.Equal(t, int64(2), rec.Version)
		assert.Equal(t, time.Now().UTC(), rec.Changed)
	})
}

// TestList_expiresWhatIsDue: by the time that a record is looked at.
func TestList_expiresWhatIsDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := desk.Memory()
		d := desk.New(s)
		for i := range 6 {
			q := question()
			q.ID, q.CallID = fmt.Sprint(i), fmt.Sprint(i)
			q.Expires = time.Now().Add(time.Duration(i+1) * time.Hour)
			mustAsk(t, d, q, false)
			if i%2 == 1 {
				q.Rebind()
				mustDecide(t, d, q, approval(q))
			}
		}
		time.Sleep(4 * time.Hour)
		ids := func(q desk.Query) (found []string) {
			for rec, err := range d.List(t.Context(), q) {
				require.NoError(t, err)
				found = append(found, rec.Question.ID)
			}
			return found
		}
		assert.Equal(t, []string{"4"}, ids(desk.Query{States: []desk.State{desk.Open}, Limit: 1}), "what has expired doesn't count")
		assert.Equal(t, []string{"4"}, ids(desk.Query{States: []desk.State{desk.Open}}))
		assert.Equal(t, []string{"0", "1", "2"}, ids(desk.Query{States: []desk.State{desk.Expired}, Limit: 3}))
		assert.Equal(t, []string{"3", "5"}, ids(desk.Query{States: []desk.State{desk.Expired, desk.Approved}})[3:])
		assert.Equal(t, desk.Expired, stateOf(t, s, "0"))
		assert.Equal(t, []string{"0", "1", "2", "3", "4", "5"}, ids(desk.Query{}))
	})
}

// TestList_loopDecides: no lock is held while the loop is at it.
func TestList_loopDecides(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]desk.Store{"memory": desk.Memory(), "file": openFile(t, t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			d := desk.New(s)
			for i := range 5 {
				q := question()
				q.ID, q.CallID = fmt.Sprint(i), fmt.Sprint(i)
				mustAsk(t, d, q, false)
			}
			n := 0
			for rec, err := range d.List(t.Context(), desk.Query{States: []desk.State{desk.Open}}) {
				require.NoError(t, err)
				mustDecide(t, d, &rec.Question, approval(&rec.Question))
				n++
			}
			assert.Equal(t, 5, n)
			for rec, err := range d.List(t.Context(), desk.Query{States: []desk.State{desk.Open}}) {
				t.Errorf("nothing waits any more, but List yielded %q, %v", rec.Question.ID, err)
			}
		})
	}
}

func TestList_storeFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for left, want := range map[int]int{0: 1, 1: 2} { // of the store's List; of the first change
			inner := desk.Memory()
			for i := range 2 {
				q := question()
				q.ID, q.CallID = fmt.Sprint(i), fmt.Sprint(i)
				mustAsk(t, desk.New(inner), q, false)
			}
			time.Sleep(25 * time.Hour)
			d := desk.New(&faultyStore{Store: inner, left: left})
			var failed, yielded int
			for _, err := range d.List(t.Context(), desk.Query{}) {
				yielded++
				if err != nil {
					failed++
					assert.ErrorIs(t, err, errBroken)
				}
			}
			assert.Equal(t, want, yielded)
			assert.Equal(t, 1, failed)
		}
	})
}

// TestDesk_recordIsTheAuthorizers: what it does to the record changes no question.
func TestDesk_recordIsTheAuthorizers(t *testing.T) {
	t.Parallel()
	d := desk.New(desk.Memory(), desk.WithAuthorizer(func(_ context.Context, rec desk.Record, _ string) error {
		rec.Question.Details["supplier"] = "theirs"
		return nil
	}))
	q := question()
	q.Details = map[string]string{"supplier": "ACME"}
	mustAsk(t, d, q, false)
	mustDecide(t, d, q, approval(q))
	rec, err := d.Get(t.Context(), q.ID)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"supplier": "ACME"}, rec.Question.Details)
	assert.Equal(t, hooks.Approve, mustAsk(t, d, q, true).Verdict)
}
