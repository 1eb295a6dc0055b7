package desktest

// Processes that die while they use a store.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
)

// Open opens the store at a place: a folder, or the name of a database. It is
// called in processes of their own, for one place by several, too. A store that can
// be in the middle of a write, such that a part of it is on the disk, calls
// midWrite there; it is nil where nothing is to happen.
type Open func(t *testing.T, place string, midWrite func()) desk.Store

// Kill kills processes that use a store: before, in the middle of and after each
// write, and, several at once, at random. Other processes then go on; no approval
// is used twice by them, and nothing is lost that had been stored.
//
// Such a process is the test binary itself, which is started with the test that
// calls Kill alone. So Kill is called once in a top-level test or in a subtest of a
// fixed name, with nothing before it that mustn't run again: place, which makes an
// empty place, is called by the first process alone.
func Kill(t *testing.T, place func(t *testing.T) string, open Open) {
	t.Helper()
	if text, ok := os.LookupEnv(childEnv); ok {
		var c child
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		c.run(t, open)
		return
	}
	for write, name := range writes {
		for _, when := range []string{"before", "within", "after"} {
			t.Run(when+" "+name, func(t *testing.T) { killAt(t, place(t), open, write+1, when) })
		}
	}
	t.Run("at random", func(t *testing.T) { killAtRandom(t, place(t), open) })
}

// writes are those of a question that is put, approved, used and done.
var writes = [...]string{"insert", "approve", "use", "done"}

// states are what the store holds after so many of them.
var states = [...]desk.State{"", desk.Open, desk.Approved, desk.Used, desk.Done}

const childEnv = "DESKTEST_CHILD"

// child is what a process is told that will be killed.
type child struct {
	Place string
	Log   string // the file in which it writes what ran
	Write int    // the write at which it dies; 0: it goes on until it is killed
	When  string
}

// start starts the process. What it prints is in the buffer.
func (c child) start(t *testing.T) (*exec.Cmd, *bytes.Buffer, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	// The subtest that calls this is one of Kill's: its parent calls Kill.
	parts := strings.Split(t.Name(), "/")
	parts = parts[:len(parts)-1]
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(self, "-test.run="+strings.Join(parts, "/"), "-test.count=1", "-test.timeout=2m")
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out, cmd.Start()
}

// die ends the process as SIGKILL does.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // until it is dead
}

// run is what the process does.
func (c child) run(t *testing.T, open Open) {
	count := 0
	midWrite := func() {
		if c.When == "within" && count == c.Write {
			die()
		}
	}
	d := desk.New(&dyingStore{open(t, c.Place, midWrite), &c, &count})
	if c.Write == 0 {
		for {
			c.goOn(t, d)
		}
	}
	q := newQuestion("call-1", `{}`)
	ask(t, d, q, false)
	approve(t, d, q)
	ask(t, d, q, true)
	logLine(t, c.Log, "ran "+q.Digest)
	is(t, "Done", d.Done(t.Context(), q.ID), nil)
}

// goOn does what comes next for the one call: it approves, or runs and tells that.
func (c child) goOn(t *testing.T, d *desk.Desk) {
	q := newQuestion("call-1", `{}`)
	_, decided, err := d.Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if decided {
		logLine(t, c.Log, "ran "+q.Digest)
		if err := d.Done(t.Context(), q.ID); err != nil {
			t.Fatal(err)
		}
		return
	}
	logLine(t, c.Log, "approved "+q.Digest) // or soon
	err = d.Decide(t.Context(), q.ID, hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest})
	if err != nil && !errors.Is(err, desk.ErrDecided) && !errors.Is(err, desk.ErrNotShown) {
		t.Fatal(err)
	}
}

// logLine adds a line to a file that several processes write.
func logLine(t *testing.T, path, line string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, err = f.WriteString(line + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// logged returns how often each line stands in the file.
func logged(t *testing.T, path string) map[string]int {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	lines := make(map[string]int)
	for line := range strings.Lines(string(raw)) {
		lines[strings.TrimSpace(line)]++
	}
	return lines
}

// dyingStore dies at a write.
type dyingStore struct {
	desk.Store
	child *child
	count *int
}

func (s *dyingStore) write(store func() error) error {
	*s.count++
	now := *s.count == s.child.Write
	if now && s.child.When == "before" {
		die()
	}
	err := store()
	if now && s.child.When == "after" && err == nil {
		die()
	}
	return err
}

func (s *dyingStore) Insert(ctx context.Context, rec desk.Record) (stored desk.Record, err error) {
	err = s.write(func() error {
		stored, err = s.Store.Insert(ctx, rec)
		return err
	})
	return stored, err
}

func (s *dyingStore) Update(ctx context.Context, rec desk.Record) error {
	return s.write(func() error { return s.Store.Update(ctx, rec) })
}

func (s *dyingStore) List(ctx context.Context, q desk.Query) iter.Seq2[desk.Record, error] {
	return s.Store.List(ctx, q)
}

// killAt kills one process at a write, and goes on where it was.
func killAt(t *testing.T, place string, open Open, write int, when string) {
	c := child{Place: place, Log: filepath.Join(t.TempDir(), "log"), Write: write, When: when}
	cmd, out, err := c.start(t)
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if err == nil && when == "within" {
		t.Skip("the store doesn't say when it is in the middle of a write")
	}
	if err == nil || cmd.ProcessState.Exited() && runtime.GOOS != "windows" { // there, killed ones have an exit code too
		t.Fatalf("the process wasn't killed: %v\n%s", err, out)
	}
	done := write
	if when != "after" {
		done--
	}

	s := open(t, place, nil)
	d := desk.New(s)
	q := newQuestion("call-1", `{}`)
	first := q.Digest
	rec, err := s.Get(t.Context(), q.ID)
	switch {
	case done == 0:
		is(t, "Get", err, desk.ErrNotFound)
	case err != nil:
		t.Fatalf("a question that was stored is lost: %v", err)
	default:
		equal(t, "the state", rec.State, states[done])
		equal(t, "the digest", rec.Question.Digest, first)
	}
	ran := 0
	if done == 3 && when == "before" || done == 3 && when == "within" || done == 4 {
		ran = 1
	}
	equal(t, "how often it ran until then", logged(t, c.Log)["ran "+first], ran)

	if done == 2 { // the approval is there, and counts
		ask(t, d, q, true)
		equal(t, "the digest", q.Digest, first)
		is(t, "Done", d.Done(t.Context(), q.ID), nil)
		state(t, s, q, desk.Done)
		return
	}
	ask(t, d, q, false)
	if done >= 3 { // it is used up
		equal(t, "Again", q.Again, 1)
		is(t, "the old form, sent twice", d.Decide(t.Context(), q.ID, hooks.Decision{Verdict: hooks.Approve, Digest: first}), desk.ErrNotShown)
	} else {
		equal(t, "the digest", q.Digest, first)
	}
	approve(t, d, q)
	ask(t, d, q, true)
	is(t, "Done", d.Done(t.Context(), q.ID), nil)
	state(t, s, q, desk.Done)
	equal(t, "the records", listed(t.Context(), t, s, desk.Query{}), []string{q.ID})
}

// killAtRandom runs several processes about one call, and kills them.
func killAtRandom(t *testing.T, place string, open Open) {
	const processes, kills = 3, 5
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	c := child{Place: place, Log: filepath.Join(t.TempDir(), "log")}

	var all sync.WaitGroup
	for range processes {
		lives := make([]time.Duration, kills)
		for i := range lives {
			lives[i] = 100*time.Millisecond + time.Duration(random.Int64N(int64(200*time.Millisecond)))
		}
		all.Go(func() {
			for _, life := range lives {
				cmd, out, err := c.start(t)
				if err != nil {
					t.Error(err)
					return
				}
				kill := time.AfterFunc(life, func() { _ = cmd.Process.Kill() }) // it may have ended
				err = cmd.Wait()
				if kill.Stop() {
					t.Errorf("a process ended by itself: %v\n%s", err, out)
				}
			}
		})
	}
	all.Wait()

	// One that is left goes on, and comes to an end.
	d := desk.New(open(t, place, nil))
	for range 3 {
		c.goOn(t, d)
	}
	lines := logged(t, c.Log)
	ran := 0
	for line, n := range lines {
		digest, isRun := strings.CutPrefix(line, "ran ")
		if !isRun {
			continue
		}
		ran++
		if n > 1 {
			t.Errorf("%d passages ran on one approval", n)
		}
		if lines["approved "+digest] == 0 {
			t.Error("a passage ran without an approval")
		}
	}
	if ran == 0 {
		t.Error("nothing ran")
	}
	t.Log(fmt.Sprint(ran, " passages ran"))
}
