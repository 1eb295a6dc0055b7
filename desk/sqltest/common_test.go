package sqltest

import (
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
)

// testCommon tests what a store in a database has beside others. place makes an
// empty database.
func testCommon(t *testing.T, driver string, place func(t *testing.T) string) {
	t.Helper()
	question := func() *hooks.Question {
		q := &hooks.Question{ID: "q", RootRunID: "run-1", CallID: "call-1", Tool: "pay", Arguments: "{}"}
		q.Rebind()
		return q
	}

	t.Run("a closed database blocks the call", func(t *testing.T) {
		db, s := openSQL(t, driver, place(t))
		d := desk.New(s)
		q := question()
		if _, decided, err := d.Ask(t.Context(), q); decided || err != nil {
			t.Fatalf("Ask: got %t, %v", decided, err)
		}
		dec := hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest}
		if err := d.Decide(t.Context(), q.ID, dec); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if _, decided, err := d.Ask(t.Context(), q); decided || err == nil {
			t.Errorf("Ask of a closed database: got %t, %v; want false and an error", decided, err)
		}
		if err := d.Done(t.Context(), q.ID); err == nil || errors.Is(err, desk.ErrNotFound) {
			t.Errorf("Done of a closed database: got %v, want its error", err)
		}
	})

	t.Run("several migrate at once", func(t *testing.T) {
		at := place(t)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { migrate(t, driver, at) })
		}
		all.Wait()
		_, s := openSQL(t, driver, at) // once more, with a record in it
		if _, _, err := desk.New(s).Ask(t.Context(), question()); err != nil {
			t.Fatal(err)
		}
		migrate(t, driver, at)
		if rec, err := s.Get(t.Context(), "q"); err != nil || rec.State != desk.Open {
			t.Errorf("Get: got %q, %v", rec.State, err)
		}
	})

	t.Run("a body that can't be read is an error that names the question", func(t *testing.T) {
		db, s := openSQL(t, driver, place(t))
		d := desk.New(s)
		for _, id := range []string{"q", "r"} {
			q := question()
			q.ID, q.CallID = id, id
			if _, _, err := d.Ask(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.ExecContext(t.Context(), "update hooks_questions set body = '{' where id = 'q'"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), "q"); err == nil || !strings.Contains(err.Error(), `"q"`) {
			t.Errorf("Get: got the error %v", err)
		}
		var read, failed int
		for _, err := range s.List(t.Context(), desk.Query{}) {
			if err == nil {
				read++
			} else if failed++; !strings.Contains(err.Error(), `"q"`) {
				t.Errorf("List: got the error %v", err)
			}
		}
		if read != 1 || failed != 1 {
			t.Errorf("List: got %d records and %d errors, want 1 of each", read, failed)
		}
	})

	t.Run("without its table every method fails", func(t *testing.T) {
		db, s := openSQL(t, driver, place(t))
		if _, err := db.ExecContext(t.Context(), "drop table hooks_questions"); err != nil {
			t.Fatal(err)
		}
		q := question()
		if _, decided, err := desk.New(s).Ask(t.Context(), q); decided || err == nil {
			t.Errorf("Ask: got %t, %v", decided, err)
		}
		rec := desk.Record{Question: *q}
		_, inserted := s.Insert(t.Context(), rec)
		_, got := s.Get(t.Context(), "q")
		for what, err := range map[string]error{"Insert": inserted, "Get": got, "Update": s.Update(t.Context(), rec)} {
			if err == nil || errors.Is(err, desk.ErrNotFound) {
				t.Errorf("%s: got %v, want the error of the database", what, err)
			}
		}
	})
}

func migrate(t *testing.T, driver, at string) {
	t.Helper()
	db, err := sql.Open(driver, at)
	if err != nil {
		t.Error(err)
		return
	}
	if err := desk.SQL(db).Migrate(t.Context()); err != nil {
		t.Errorf("Migrate: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
