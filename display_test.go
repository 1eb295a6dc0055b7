package hooks_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

// journal is a list of what happened, in order.
type journal struct {
	mu      sync.Mutex
	entries []string
}

func (j *journal) add(entry string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.entries, " ")
}

func (j *journal) asking(answer string, err error) human {
	return func(context.Context, string, string) (string, error) {
		j.add("ask")
		return answer, err
	}
}

// recorder is a LiveDisplay that writes a journal.
type recorder struct {
	journal
	name          string
	pause, resume func() // run after the entry, unless nil
}

func (r *recorder) Pause() {
	r.add(r.name + "pause")
	if r.pause != nil {
		r.pause()
	}
}

func (r *recorder) Resume() {
	r.add(r.name + "resume")
	if r.resume != nil {
		r.resume()
	}
}

func exit() { runtime.Goexit() }

// unwind runs f on a goroutine of its own and waits, whether f returns, panics
// or exits the goroutine.
func unwind(f func()) (recovered any) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { recovered = recover() }()
		f()
	}()
	<-done
	return recovered
}

func show(t *testing.T, d hooks.LiveDisplay) {
	hooks.SetLiveDisplay(d)
	t.Cleanup(func() { hooks.SetLiveDisplay(nil) })
}

func TestDisplayIsPausedBeforeAndResumedAfterEveryQuestion(t *testing.T) {
	for name, end := range map[string]func(cancel context.CancelFunc) (string, error){
		"answer": func(context.CancelFunc) (string, error) { return "yes", nil },
		"error":  func(context.CancelFunc) (string, error) { return "", errors.New("tty gone") },
		"panic":  func(context.CancelFunc) (string, error) { panic("tty gone") },
		"exit":   func(context.CancelFunc) (string, error) { exit(); return "", nil },
		"cancel": func(cancel context.CancelFunc) (string, error) { cancel(); return "", context.Canceled },
	} {
		t.Run(name, func(t *testing.T) {
			d := &recorder{}
			show(t, d)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ctx = hooks.WithHumanInput(ctx, human(func(context.Context, string, string) (string, error) {
				d.add("ask")
				return end(cancel)
			}))
			unwind(func() { _, _ = ask(ctx, "p", "m") })
			assert.Equal(t, "pause ask resume", d.String())
		})
	}
}

func TestDisplayIsPausedAroundPromptAndRead(t *testing.T) {
	d := &recorder{}
	show(t, d)
	in := readerFunc(func(p []byte) (int, error) {
		d.add("read")
		p[0] = '\n'
		return 1, nil
	})
	out := writerFunc(func(p []byte) (int, error) {
		d.add("write")
		return len(p), nil
	})
	_, err := ask(hooks.WithHumanInput(t.Context(), hooks.NewConsole(in, out)), "p", "m")
	require.NoError(t, err)
	assert.Equal(t, "pause write read resume", d.String())
}

func TestDisplayIsResumedWhenTheContextEndsTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &recorder{}
		show(t, d)
		never := make(chan struct{})
		defer close(never)
		in := readerFunc(func([]byte) (int, error) { <-never; return 0, errors.New("closed") })
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := ask(hooks.WithHumanInput(ctx, hooks.NewConsole(in, &strings.Builder{})), "p", "m")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, "pause resume", d.String())
	})
}

func TestDisplayIsLeftAloneWhenNobodyIsAsked(t *testing.T) {
	d := &recorder{}
	show(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := ask(hooks.WithHumanInput(ctx, answering("yes")), "p", "m")
	require.Error(t, err)
	assert.Empty(t, d.String())
}

func TestQuestionCancelledDuringPauseIsNotAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := &recorder{pause: cancel}
	show(t, d)
	_, err := ask(hooks.WithHumanInput(ctx, d.asking("yes", nil)), "p", "m")
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, "pause resume", d.String())
}

func TestPauseThatDoesNotReturnIsNotResumed(t *testing.T) {
	for name, pause := range map[string]func(){"panic": func() { panic("no terminal") }, "exit": exit} {
		t.Run(name, func(t *testing.T) {
			d := &recorder{pause: pause}
			show(t, d)
			ctx := hooks.WithHumanInput(t.Context(), d.asking("yes", nil))
			recovered := unwind(func() { _, _ = ask(ctx, "p", "m") })
			assert.Equal(t, "pause", d.String(), "nothing asked, nothing resumed")
			if name == "panic" {
				assert.Equal(t, "no terminal", recovered)
			}
			d.pause = nil
			_, err := ask(ctx, "p", "m")
			require.NoError(t, err)
			assert.Equal(t, "pause pause ask resume", d.String(), "the next question is not disturbed")
		})
	}
}

func TestResumeThatDoesNotReturnDisturbsNoLaterQuestion(t *testing.T) {
	for name, resume := range map[string]func(){"panic": func() { panic("no terminal") }, "exit": exit} {
		t.Run(name, func(t *testing.T) {
			d := &recorder{resume: resume}
			show(t, d)
			ctx := hooks.WithHumanInput(t.Context(), d.asking("yes", nil))
			unwind(func() { _, _ = ask(ctx, "p", "m") })
			d.resume = nil
			_, err := ask(ctx, "p", "m")
			require.NoError(t, err)
			assert.Equal(t, "pause ask resume pause ask resume", d.String())
		})
	}
}

func TestDisplayStaysPausedWhileAnyQuestionIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &recorder{}
		show(t, d)
		answer := map[string]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{})}
		h := human(func(_ context.Context, prompt, _ string) (string, error) {
			d.add(prompt)
			<-answer[prompt]
			return "", nil
		})
		a := askLater(hooks.WithHumanInput(t.Context(), h), "a")
		synctest.Wait()
		b := askLater(hooks.WithHumanInput(t.Context(), h), "b")
		synctest.Wait()
		close(answer["a"])
		require.NoError(t, (<-a).err)
		assert.Equal(t, "pause a b", d.String())
		close(answer["b"])
		require.NoError(t, (<-b).err)
		assert.Equal(t, "pause a b resume", d.String())
	})
}

func TestQuestionWaitsForAnothersPauseAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step, answer := make(chan struct{}), make(chan struct{})
		d := &recorder{pause: func() { <-step }, resume: func() { <-step }}
		show(t, d)
		later := func(ctx context.Context) <-chan answered {
			return askLater(hooks.WithHumanInput(ctx, human(func(context.Context, string, string) (string, error) {
				d.add("ask")
				<-answer
				return "", nil
			})), "p")
		}
		later(t.Context())
		synctest.Wait()
		later(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, (<-later(ctx)).err, context.DeadlineExceeded, "the wait ends with the context")
		assert.Equal(t, "pause", d.String(), "nobody is asked before Pause has returned")

		step <- struct{}{} // Pause returns
		synctest.Wait()
		assert.Equal(t, "pause ask ask", d.String())
		answer <- struct{}{}
		answer <- struct{}{}
		synctest.Wait()
		assert.Equal(t, "pause ask ask resume", d.String())

		last := later(t.Context())
		synctest.Wait()
		assert.Equal(t, "pause ask ask resume", d.String(), "nor before Resume has")
		step <- struct{}{} // Resume returns
		step <- struct{}{} // the next Pause does
		answer <- struct{}{}
		step <- struct{}{}
		require.NoError(t, (<-last).err)
		assert.Equal(t, "pause ask ask resume pause ask resume", d.String())
	})
}

func TestQuestionTriesItselfWhenAnothersPauseFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := make(chan struct{})
		d := &recorder{}
		d.pause = func() {
			d.pause = nil
			<-fail
			panic("no terminal")
		}
		show(t, d)
		go func() {
			defer func() { _ = recover() }()
			_, _ = ask(hooks.WithHumanInput(t.Context(), d.asking("", nil)), "p", "m")
		}()
		synctest.Wait()
		b := askLater(hooks.WithHumanInput(t.Context(), d.asking("", nil)), "p")
		synctest.Wait()
		close(fail)
		require.NoError(t, (<-b).err)
		assert.Equal(t, "pause pause ask resume", d.String())
	})
}

func TestDisplayReplacedDuringAQuestionIsResumed(t *testing.T) {
	for name, next := range map[string]*recorder{"another": {}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			first := &recorder{}
			show(t, first)
			_, err := ask(hooks.WithHumanInput(t.Context(), human(func(context.Context, string, string) (string, error) {
				if next == nil {
					hooks.SetLiveDisplay(nil)
				} else {
					hooks.SetLiveDisplay(next)
				}
				return "", nil
			})), "p", "m")
			require.NoError(t, err)
			assert.Equal(t, "pause resume", first.String())

			_, err = ask(hooks.WithHumanInput(t.Context(), answering("")), "p", "m")
			require.NoError(t, err)
			assert.Equal(t, "pause resume", first.String())
			if next != nil {
				assert.Equal(t, "pause resume", next.String(), "only around the second question")
			}
		})
	}
}

func TestEveryDisplayPausedDuringOverlappingQuestionsIsResumedOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		second func(first, other *recorder) hooks.LiveDisplay
		want   string
	}{
		"another":        {func(_, other *recorder) hooks.LiveDisplay { return other }, "pause other-pause other-resume resume"},
		"the same again": {func(first, _ *recorder) hooks.LiveDisplay { return first }, "pause resume"},
		"none":           {func(_, _ *recorder) hooks.LiveDisplay { return nil }, "pause resume"},
		"another whose Pause panics": {func(_, other *recorder) hooks.LiveDisplay {
			other.pause = func() { panic("no terminal") }
			return other
		}, "pause other-pause resume"},
		"another whose Resume panics": {func(_, other *recorder) hooks.LiveDisplay {
			other.resume = func() { panic("no terminal") }
			return other
		}, "pause other-pause other-resume resume"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var all journal
				first, other := &recorder{}, &recorder{name: "other-"}
				show(t, forward{first, &all})
				answer := make(chan struct{})
				h := human(func(context.Context, string, string) (string, error) {
					<-answer
					return "", nil
				})
				var wg sync.WaitGroup
				question := func() {
					defer func() { _ = recover() }()
					_, _ = ask(hooks.WithHumanInput(t.Context(), h), "p", "m")
				}
				wg.Go(question)
				synctest.Wait()
				if d, ok := tc.second(first, other).(*recorder); ok {
					hooks.SetLiveDisplay(forward{d, &all})
				} else {
					hooks.SetLiveDisplay(nil)
				}
				wg.Go(question)
				synctest.Wait()
				close(answer)
				wg.Wait()
				assert.Equal(t, tc.want, all.String())
			})
		})
	}
}

// forward is a comparable LiveDisplay that also writes to a common journal.
type forward struct {
	d   *recorder
	all *journal
}

func (f forward) Pause()  { f.all.add(f.d.name + "pause"); f.d.Pause() }
func (f forward) Resume() { f.all.add(f.d.name + "resume"); f.d.Resume() }

// drawing is a LiveDisplay whose values can't be compared.
type drawing struct{ steps []func() }

func (d drawing) Pause()  { d.steps[0]() }
func (d drawing) Resume() { d.steps[1]() }

func TestDisplayThatCannotBeComparedIsBalanced(t *testing.T) {
	var all journal
	show(t, drawing{[]func(){func() { all.add("pause") }, func() { all.add("resume") }}})
	h := human(func(ctx context.Context, prompt, message string) (string, error) {
		return ask(hooks.WithHumanInput(ctx, all.asking("", nil)), prompt, message)
	})
	_, err := ask(hooks.WithHumanInput(t.Context(), h), "p", "m")
	require.NoError(t, err)
	assert.Equal(t, "pause ask resume", all.String())
}

func TestPausesAndResumesBalanceUnderConcurrency(t *testing.T) {
	var mu sync.Mutex
	paused, pauses, resumes := false, 0, 0
	d := &recorder{
		pause: func() {
			mu.Lock()
			defer mu.Unlock()
			assert.False(t, paused, "paused twice")
			paused = true
			pauses++
		},
		resume: func() {
			mu.Lock()
			defer mu.Unlock()
			assert.True(t, paused, "resumed twice")
			paused = false
			resumes++
		},
	}
	show(t, d)
	h := human(func(context.Context, string, string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		assert.True(t, paused, "asked while the display is on")
		return "", nil
	})
	var wg sync.WaitGroup
	for range 16 {
		ctx := hooks.WithHumanInput(t.Context(), h)
		wg.Go(func() {
			for range 200 {
				_, err := ask(ctx, "p", "m")
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	assert.False(t, paused)
	assert.Equal(t, pauses, resumes)
	assert.Positive(t, pauses)
}
