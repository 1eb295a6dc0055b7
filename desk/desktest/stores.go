package desktest

// What a store owes.

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
)

var storeCases = []testCase{
	{"insert keeps each field", insertKeepsEachField},
	{"insert keeps empty and odd values", insertKeepsOddValues},
	{"insert of an ID that is there stores nothing", insertTwice},
	{"one of many inserts of one ID stores", insertRace},
	{"get of an unknown ID", getUnknown},
	{"update counts versions", updateCounts},
	{"update of another version stores nothing", updateConflict},
	{"update of an unknown ID stores nothing", updateUnknown},
	{"one of many updates of one version stores", updateRace},
	{"1 MB of arguments with control characters", bigArguments},
	{"records are the caller's", recordsAreTheCallers},
	{"list by each field", listByField},
	{"list is ordered and limited", listOrder},
	{"list of many", listMany},
	{"list lets its loop use the store", listHoldsNoLock},
	{"done ctx", doneCtx},
}

func insertKeepsEachField(t *testing.T, s desk.Store) {
	rec := newRecord("a")
	stored := insert(t, s, rec)
	rec.Version = 1
	equal(t, "what Insert returned", stored, rec)
	equal(t, "what Get returned", get(t, s, "a"), rec)
}

func insertKeepsOddValues(t *testing.T, s desk.Store) {
	rec := desk.Record{Question: hooks.Question{
		ID: "a", RootRunID: "run 'ü' \"\\ %", Prompt: "\u202e\x00\x7f\u2028 </script> ' $1",
		Details: map[string]string{"": "\x00"},
	}, State: "new", Version: 9}
	insert(t, s, rec)
	rec.Version = 1
	equal(t, "what Get returned", get(t, s, "a"), rec)
	equal(t, "the list of the run", listed(t.Context(), t, s, desk.Query{RootRunID: rec.Question.RootRunID}), []string{"a"})
}

func insertTwice(t *testing.T, s desk.Store) {
	first := insert(t, s, newRecord("a"))
	second := newRecord("a")
	second.State, second.Question.Prompt = desk.Open, "another"
	there, err := s.Insert(t.Context(), second)
	is(t, "the second Insert", err, desk.ErrExists)
	equal(t, "what the second Insert returned", there, first)
	equal(t, "what Get returned", get(t, s, "a"), first)
}

func insertRace(t *testing.T, s desk.Store) {
	var mu sync.Mutex
	var stored []desk.Record
	var found []desk.Record
	together(20, func(i int) {
		rec := newRecord("a")
		rec.Question.Prompt = fmt.Sprint(i)
		got, err := s.Insert(t.Context(), rec)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			stored = append(stored, got)
		} else {
			is(t, "Insert", err, desk.ErrExists)
			found = append(found, got)
		}
	})
	if len(stored) != 1 {
		t.Fatalf("%d of 20 inserts of one ID stored, want 1", len(stored))
	}
	for _, rec := range found {
		equal(t, "what an Insert found", rec, stored[0])
	}
}

func getUnknown(t *testing.T, s desk.Store) {
	insert(t, s, newRecord("a"))
	for _, id := range []string{"b", "A", "", ".", "..", "../a", "a/../a", "a.json", "a ", "a\x00", "\xff", "a' or '1'='1", strings.Repeat("x", 5000)} {
		_, err := s.Get(t.Context(), id)
		is(t, fmt.Sprintf("Get(%.20q)", id), err, desk.ErrNotFound)
	}
}

func updateCounts(t *testing.T, s desk.Store) {
	rec := insert(t, s, newRecord("a"))
	other := insert(t, s, newRecord("b"))
	rec.State, rec.Question.RunID, rec.Question.Tenant = desk.Used, "run-3", "other"
	rec.Expires = rec.Expires.Add(time.Second)
	is(t, "Update", s.Update(t.Context(), rec), nil)
	rec.Version = 2
	equal(t, "what Get returned", get(t, s, "a"), rec)
	equal(t, "the other record", get(t, s, "b"), other)
	equal(t, "the list of the new values", listed(t.Context(), t, s, desk.Query{RunID: "run-3", Tenant: "other", States: []desk.State{desk.Used}}), []string{"a"})
	is(t, "the second Update", s.Update(t.Context(), rec), nil)
	equal(t, "Version", get(t, s, "a").Version, int64(3))
}

func updateConflict(t *testing.T, s desk.Store) {
	was := insert(t, s, newRecord("a"))
	for _, version := range []int64{0, 2, -1} {
		rec := was
		rec.Version, rec.State = version, desk.Used
		is(t, fmt.Sprintf("Update of Version %d", version), s.Update(t.Context(), rec), desk.ErrConflict)
	}
	equal(t, "what Get returned", get(t, s, "a"), was)
}

func updateUnknown(t *testing.T, s desk.Store) {
	rec := newRecord("a")
	rec.Version = 1
	is(t, "Update", s.Update(t.Context(), rec), desk.ErrNotFound)
	_, err := s.Get(t.Context(), "a")
	is(t, "Get", err, desk.ErrNotFound)
}

func updateRace(t *testing.T, s desk.Store) {
	was := insert(t, s, newRecord("a"))
	var mu sync.Mutex
	won := -1
	together(40, func(i int) {
		rec := was
		rec.Decision.Reason = fmt.Sprint(i)
		err := s.Update(t.Context(), rec)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			is(t, "Update", err, desk.ErrConflict)
			return
		}
		if won >= 0 {
			t.Errorf("updates %d and %d of one version were both stored", won, i)
		}
		won = i
	})
	rec := get(t, s, "a")
	equal(t, "Version", rec.Version, int64(2))
	equal(t, "what is stored", rec.Decision.Reason, fmt.Sprint(won))
}

func bigArguments(t *testing.T, s desk.Store) {
	text := big()
	rec := newRecord("a")
	rec.Question.Arguments = text
	rec = insert(t, s, rec)
	equal(t, "what Get returned", get(t, s, "a"), rec)
	rec.Decision.Arguments = text
	is(t, "Update", s.Update(t.Context(), rec), nil)
	rec.Version++
	equal(t, "what Get returned after an Update", get(t, s, "a"), rec)
	for got, err := range s.List(t.Context(), desk.Query{}) {
		equal(t, "what List yielded", got, rec)
		is(t, "List", err, nil)
	}
}

// big returns 1 MB with all control characters, and others that somebody could take
// for something else, every few kilobytes.
func big() string {
	var odd strings.Builder
	for r := range rune(0x30) {
		odd.WriteRune(r)
	}
	odd.WriteString("\u007f\u0085\u2028\ufffd天\U0001f600</script>&'\"\\")
	return strings.Repeat(odd.String()+strings.Repeat("0123456789abcdef", 256), 1<<20/(16*256)+1)
}

func recordsAreTheCallers(t *testing.T, s desk.Store) {
	spoil := func(rec desk.Record) {
		rec.Question.Path[0], rec.Question.Audience[0], rec.Question.May[0], rec.Question.Offer[0] = "x", "x", "x", "x"
		rec.Question.Details["supplier"] = "x"
	}
	want := newRecord("a")
	want.Version = 1
	given := newRecord("a")
	spoil(insert(t, s, given))
	spoil(given)
	spoil(get(t, s, "a"))
	there, err := s.Insert(t.Context(), newRecord("a"))
	is(t, "the second Insert", err, desk.ErrExists)
	spoil(there)
	for rec, err := range s.List(t.Context(), desk.Query{}) {
		is(t, "List", err, nil)
		spoil(rec)
	}
	equal(t, "the record", get(t, s, "a"), want)
	given = newRecord("a")
	given.Version = 1
	is(t, "Update", s.Update(t.Context(), given), nil)
	spoil(given)
	want.Version = 2
	equal(t, "the record after an Update", get(t, s, "a"), want)
}

func listByField(t *testing.T, s desk.Store) {
	with := func(id string, change func(*desk.Record)) {
		rec := desk.Record{Question: hooks.Question{ID: id}, State: desk.Open}
		change(&rec)
		insert(t, s, rec)
	}
	with("plain", func(*desk.Record) {})
	with("run", func(r *desk.Record) { r.Question.RunID = "x" })
	with("root", func(r *desk.Record) { r.Question.RootRunID = "x" })
	with("tenant", func(r *desk.Record) { r.Question.Tenant = "x" })
	with("one", func(r *desk.Record) { r.Question.Audience = []string{"x"} })
	with("two", func(r *desk.Record) { r.Question.Audience = []string{"y", "x"} })
	with("long", func(r *desk.Record) { r.Question.Audience = []string{"xx"} })
	with("used", func(r *desk.Record) { r.State = desk.Used })
	with("done", func(r *desk.Record) { r.State, r.Question.RunID = desk.Done, "x" })

	for _, c := range []struct {
		query desk.Query
		want  []string
	}{
		{desk.Query{}, []string{"done", "long", "one", "plain", "root", "run", "tenant", "two", "used"}},
		{desk.Query{RunID: "x"}, []string{"done", "run"}},
		{desk.Query{RootRunID: "x"}, []string{"root"}},
		{desk.Query{Tenant: "x"}, []string{"tenant"}},
		{desk.Query{Audience: "x"}, []string{"one", "two"}},
		{desk.Query{Audience: "x", Limit: 1}, []string{"one"}},
		{desk.Query{States: []desk.State{desk.Used}}, []string{"used"}},
		{desk.Query{States: []desk.State{desk.Done, desk.Used}}, []string{"done", "used"}},
		{desk.Query{States: []desk.State{desk.Done, desk.Open}, RunID: "x"}, []string{"done", "run"}},
		{desk.Query{States: []desk.State{desk.Expired}}, nil},
		{desk.Query{RunID: "x", RootRunID: "x"}, nil},
		{desk.Query{RunID: "' or 1=1 --"}, nil},
	} {
		equal(t, fmt.Sprintf("%+v", c.query), listed(t.Context(), t, s, c.query), c.want)
	}
}

func listOrder(t *testing.T, s desk.Store) {
	at := newRecord("").Expires
	for i, id := range []string{"d", "b", "a", "c"} {
		rec := newRecord(id)
		rec.Expires = at.Add(time.Duration(i/2) * time.Microsecond)
		insert(t, s, rec)
	}
	all := []string{"b", "d", "a", "c"}
	for limit, want := range map[int][]string{0: all, -1: all, 4: all, 5: all, 3: all[:3], 1: all[:1]} {
		equal(t, fmt.Sprintf("with Limit %d", limit), listed(t.Context(), t, s, desk.Query{Limit: limit}), want)
	}
}

func listMany(t *testing.T, s desk.Store) {
	const n = 230 // more than a page of whatever the store reads at once
	want := make([]string, 0, n)
	for i := range n {
		rec := desk.Record{Question: hooks.Question{ID: fmt.Sprintf("id-%03d", i), RootRunID: fmt.Sprint(i % 3)}, State: desk.Open}
		insert(t, s, rec)
		want = append(want, rec.Question.ID)
	}
	equal(t, "all", listed(t.Context(), t, s, desk.Query{}), want)
	equal(t, "all but one", listed(t.Context(), t, s, desk.Query{Limit: n - 1}), want[:n-1])
	equal(t, "those of one run", len(listed(t.Context(), t, s, desk.Query{RootRunID: "1"})), 77)
}

func listHoldsNoLock(t *testing.T, s desk.Store) {
	const n = 60
	for i := range n {
		insert(t, s, newRecord(fmt.Sprintf("id-%02d", i)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := 0
	for rec, err := range s.List(ctx, desk.Query{States: []desk.State{desk.Approved}}) {
		if err != nil {
			t.Fatalf("List: %v; does it hold what its loop needs?", err)
		}
		seen++
		rec.State = desk.Used
		is(t, "Update in the loop", s.Update(ctx, rec), nil)
		if seen%20 == 1 {
			insert(t, s, newRecord(fmt.Sprintf("more-%02d", seen)))
			equal(t, "a list in the loop", len(listed(ctx, t, s, desk.Query{States: []desk.State{desk.Used}})), seen)
		}
	}
	if seen < n {
		t.Errorf("List yielded %d records, want at least %d", seen, n)
	}
	for _, err := range s.List(ctx, desk.Query{}) {
		is(t, "List", err, nil)
		break // a loop that is left leaves nothing behind
	}
	insert(t, s, newRecord("last"))
}

func doneCtx(t *testing.T, s desk.Store) {
	rec := insert(t, s, newRecord("a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Insert(ctx, newRecord("b"))
	is(t, "Insert", err, context.Canceled)
	_, err = s.Get(ctx, "a")
	is(t, "Get", err, context.Canceled)
	is(t, "Update", s.Update(ctx, rec), context.Canceled)
	failed := 0
	for _, err := range s.List(ctx, desk.Query{}) {
		is(t, "List", err, context.Canceled)
		failed++
	}
	equal(t, "what List yielded: one error", failed, 1)
	equal(t, "all records", listed(t.Context(), t, s, desk.Query{}), []string{"a"})
	equal(t, "the record", get(t, s, "a"), rec)
}

// together runs f n times at once.
func together(n int, f func(i int)) {
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	all.Wait()
}

// cut shortens what a failure shows.
func cut(v any) string {
	const most = 2000
	text := fmt.Sprintf("%+q", fmt.Sprintf("%+v", v))
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}
