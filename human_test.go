package hooks_test

// Who is asked and when, with a live display paused meanwhile, and guards that
// ask before a call goes through.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// human is a HumanInput whose values can't be compared.
type human func(ctx context.Context, prompt, message string) (string, error)

func (h human) RequestInput(ctx context.Context, prompt, message string) (string, error) {
	return h(ctx, prompt, message)
}

// humanPtr is one whose values are equal only to themselves.
type humanPtr struct{ human }

// humanNamed is one whose values are equal if their names are.
type humanNamed struct {
	name string
	ask  *human
}

func (h humanNamed) RequestInput(ctx context.Context, prompt, message string) (string, error) {
	return (*h.ask)(ctx, prompt, message)
}

func ask(ctx context.Context, prompt, message string) (string, error) {
	return (&hooks.ToolCall{}).RequestHumanInput(ctx, prompt, message)
}

func answering(text string) human {
	return func(context.Context, string, string) (string, error) { return text, nil }
}

// answered is what a call of ask returned.
type answered struct {
	text string
	err  error
}

func askLater(ctx context.Context, prompt string) <-chan answered {
	c := make(chan answered, 1)
	go func() {
		text, err := ask(ctx, prompt, "?")
		c <- answered{text, err}
	}()
	return c
}

func TestHuman_answerIsTrimmed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ given, want string }{
		{"yes", "yes"}, {" yes \r\n", "yes"}, {"", ""}, {"\r\n", ""}, {" \t ", ""}, {"\u00a0two words\n", "two words"},
	} {
		got, err := ask(hooks.WithHumanInput(t.Context(), answering(tc.given)), "p", "m")
		require.NoError(t, err)
		assert.Equal(t, tc.want, got, "%q", tc.given)
	}
}

func TestHuman_getsPromptAndMessageUnchanged(t *testing.T) {
	t.Parallel()
	var got []string
	h := human(func(_ context.Context, prompt, message string) (string, error) {
		got = append(got, prompt, message)
		return "", nil
	})
	_, err := ask(hooks.WithHumanInput(t.Context(), h), " p\x1b\n", " m ")
	require.NoError(t, err)
	assert.Equal(t, []string{" p\x1b\n", " m "}, got)
}

func TestHuman_answerWithAnError(t *testing.T) {
	t.Parallel()
	gone := errors.New("tty gone")
	h := human(func(context.Context, string, string) (string, error) { return "yes", gone })
	got, err := ask(hooks.WithHumanInput(t.Context(), h), "p", "m")
	require.ErrorIs(t, err, gone)
	assert.Empty(t, got)
}

func TestHuman_answerAfterTheContextIsDone(t *testing.T) {
	t.Parallel()
	gone := errors.New("tty gone")
	for name, answer := range map[string]answered{"yes": {"yes", nil}, "error": {"yes", gone}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			h := human(func(context.Context, string, string) (string, error) {
				cancel()
				return answer.text, answer.err
			})
			got, err := ask(hooks.WithHumanInput(ctx, h), "p", "m")
			require.ErrorIs(t, err, context.Canceled)
			assert.Empty(t, got)
			if answer.err != nil {
				require.ErrorIs(t, err, answer.err)
			}
		})
	}
}

func TestHuman_contextDoneFromTheStart(t *testing.T) {
	t.Parallel()
	why := errors.New("budget spent")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	h := human(func(context.Context, string, string) (string, error) {
		t.Error("asked")
		return "yes", nil
	})
	got, err := ask(hooks.WithHumanInput(ctx, h), "p", "m")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, why)
	assert.Empty(t, got)
}

func TestHuman_innermostAnswers(t *testing.T) {
	t.Cleanup(func() { hooks.SetHumanInput(nil) })
	hooks.SetHumanInput(answering("process"))
	outer := hooks.WithHumanInput(t.Context(), answering("run"))
	inner := hooks.WithHumanInput(outer, answering("sub-agent"))
	for want, ctx := range map[string]context.Context{"process": t.Context(), "run": outer, "sub-agent": inner} {
		got, err := ask(ctx, "p", "m")
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// circle is an error that wraps itself, until it is told to stop: a test that
// fails leaves no goroutine running in circles.
type circle struct{ stop *atomic.Bool }

func (circle) Error() string { return "circle" }

func (c circle) Unwrap() error {
	if c.stop.Load() {
		return nil
	}
	return c
}

// armed is an error whose methods panic.
type armed struct{}

func (armed) Error() string   { panic("Error") }
func (armed) Is(error) bool   { panic("Is") }
func (armed) As(any) bool     { panic("As") }
func (armed) Unwrap() []error { panic("Unwrap") }

func TestHuman_hostileErrors(t *testing.T) {
	t.Parallel()
	for name, hostile := range map[string]func(stop *atomic.Bool) error{
		"circular":            func(stop *atomic.Bool) error { return circle{stop} },
		"circular and joined": func(stop *atomic.Bool) error { return errors.Join(circle{stop}, circle{stop}) },
		"panics":              func(*atomic.Bool) error { return armed{} },
		"nil pointer":         func(*atomic.Bool) error { return (*os.PathError)(nil) },
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, ctx done: %t", name, late), func(t *testing.T) {
				t.Parallel()
				stop := new(atomic.Bool)
				t.Cleanup(func() { stop.Store(true) })
				seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
					seamApproval(r, "*")
					ctx, cancel := context.WithCancel(ctx)
					defer cancel()
					asked := 0
					ctx = hooks.WithHumanInput(ctx, human(func(context.Context, string, string) (string, error) {
						asked++
						if late {
							cancel()
						}
						return "yes", hostile(stop)
					}))
					call := &hooks.ToolCall{Name: "rm"}
					finishes(t, "the question", func() {
						assert.Nil(t, unwind(func() {
							_ = run(ctx, call, func(context.Context, *hooks.ToolCall) error { t.Error("the tool ran"); return nil })
						}))
					})
					assert.Equal(t, 1, asked)
					assert.False(t, call.Ran())
					assert.True(t, call.IsError())
				})
			})
		}
	}
}

func TestWithHumanInput_nil(t *testing.T) {
	t.Parallel()
	assert.PanicsWithValue(t, "hooks: WithHumanInput: the HumanInput is nil", func() {
		hooks.WithHumanInput(t.Context(), nil)
	})
}

func TestSetHumanInput_nilRestoresTheConsole(t *testing.T) {
	in, out := os.Stdin, os.Stderr
	t.Cleanup(func() {
		os.Stdin, os.Stderr = in, out
		hooks.SetHumanInput(nil)
	})
	var answers, shown *os.File
	replaceStdin := func() {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, errors.Join(r.Close(), w.Close())) })
		os.Stdin, answers = r, w
	}
	replaceStderr := func() {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, errors.Join(r.Close(), w.Close())) })
		shown, os.Stderr = r, w
	}
	replaceStdin()
	replaceStderr()
	for _, replace := range []func(){func() {}, replaceStdin, replaceStderr} {
		replace() // what counts are the files at the time of the question
		hooks.SetHumanInput(answering("no"))
		hooks.SetHumanInput(nil)
		_, err := answers.WriteString("yes\n")
		require.NoError(t, err)
		got, err := ask(t.Context(), "p", "m")
		require.NoError(t, err)
		assert.Equal(t, "yes", got)
		text := make([]byte, 100)
		n, err := shown.Read(text)
		require.NoError(t, err)
		assert.Equal(t, "p\nm ", string(text[:n]))
	}
}

func TestHuman_oneQuestionAtATime(t *testing.T) {
	for _, tc := range []struct {
		name     string
		contexts func(ctx context.Context, h human) (a, b context.Context)
		parallel bool
	}{
		{name: "pointer in two runs", contexts: func(ctx context.Context, h human) (a, b context.Context) {
			p := &humanPtr{h}
			return hooks.WithHumanInput(ctx, p), hooks.WithHumanInput(ctx, p)
		}},
		{name: "equal values in two runs", contexts: func(ctx context.Context, h human) (a, b context.Context) {
			return hooks.WithHumanInput(ctx, humanNamed{"x", &h}), hooks.WithHumanInput(ctx, humanNamed{"x", &h})
		}},
		{name: "process and run", contexts: func(ctx context.Context, h human) (a, b context.Context) {
			p := &humanPtr{h}
			hooks.SetHumanInput(p)
			return ctx, hooks.WithHumanInput(ctx, p)
		}},
		{name: "uncomparable, one run", contexts: func(ctx context.Context, h human) (a, b context.Context) {
			ctx = hooks.WithHumanInput(ctx, h)
			return ctx, context.WithoutCancel(ctx)
		}},
		{name: "uncomparable, process", contexts: func(ctx context.Context, h human) (a, b context.Context) {
			hooks.SetHumanInput(h)
			return ctx, ctx
		}},
		{name: "uncomparable inside a comparable type", contexts: func(ctx context.Context, h human) (a, b context.Context) {
			ctx = hooks.WithHumanInput(ctx, struct{ hooks.HumanInput }{h})
			return ctx, ctx
		}},
		{name: "different pointers", parallel: true, contexts: func(ctx context.Context, h human) (a, b context.Context) {
			return hooks.WithHumanInput(ctx, &humanPtr{h}), hooks.WithHumanInput(ctx, &humanPtr{h})
		}},
		{name: "different values", parallel: true, contexts: func(ctx context.Context, h human) (a, b context.Context) {
			return hooks.WithHumanInput(ctx, humanNamed{"x", &h}), hooks.WithHumanInput(ctx, humanNamed{"y", &h})
		}},
		{name: "uncomparable, two runs", parallel: true, contexts: func(ctx context.Context, h human) (a, b context.Context) {
			return hooks.WithHumanInput(ctx, h), hooks.WithHumanInput(ctx, h)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			defer hooks.SetHumanInput(nil)
			synctest.Test(t, func(t *testing.T) {
				var open atomic.Int32
				answer := make(chan struct{})
				a, b := tc.contexts(t.Context(), func(_ context.Context, prompt, _ string) (string, error) {
					open.Add(1)
					defer open.Add(-1)
					<-answer
					return "re " + prompt, nil
				})
				first := askLater(a, "first")
				synctest.Wait()
				second := askLater(b, "second")
				synctest.Wait()
				want := int32(1)
				if tc.parallel {
					want = 2
				}
				assert.Equal(t, want, open.Load(), "questions open at the same time")
				answer <- struct{}{}
				if !tc.parallel {
					assert.Equal(t, answered{text: "re first"}, <-first, "the one that came first is asked first")
				}
				answer <- struct{}{}
				if tc.parallel {
					assert.Equal(t, answered{text: "re first"}, <-first)
				}
				assert.Equal(t, answered{text: "re second"}, <-second)
			})
		})
	}
}

func TestHuman_waitEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		answer := make(chan struct{})
		base := hooks.WithHumanInput(t.Context(), human(func(context.Context, string, string) (string, error) {
			asked++
			<-answer
			return "yes", nil
		}))
		first := askLater(base, "first")
		synctest.Wait()

		start := time.Now()
		ctx, cancel := context.WithTimeout(base, 50*time.Millisecond)
		defer cancel()
		_, err := ask(ctx, "second", "?")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 50*time.Millisecond, time.Since(start))

		close(answer)
		assert.Equal(t, answered{text: "yes"}, <-first)
		assert.Equal(t, 1, asked)
		_, err = ask(base, "third", "?")
		require.NoError(t, err, "the turn that was given up is free")
	})
}

func TestHuman_turnIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func() (string, error){
		"answer": func() (string, error) { return "yes", nil },
		"error":  func() (string, error) { return "", io.EOF },
		"panic":  func() (string, error) { panic("tty gone") },
		"exit":   func() (string, error) { exit(); return "", nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := true
			ctx := hooks.WithHumanInput(t.Context(), human(func(context.Context, string, string) (string, error) {
				if first {
					first = false
					return end()
				}
				return "second", nil
			}))
			unwind(func() { _, _ = ask(ctx, "p", "m") })
			got, err := ask(ctx, "p", "m")
			require.NoError(t, err)
			assert.Equal(t, "second", got)
		})
	}
}

func TestHuman_panicReachesTheCaller(t *testing.T) {
	t.Parallel()
	ctx := hooks.WithHumanInput(t.Context(), human(func(context.Context, string, string) (string, error) { panic("tty gone") }))
	assert.PanicsWithValue(t, "tty gone", func() { _, _ = ask(ctx, "p", "m") })
}

func TestHuman_mayAskAnother(t *testing.T) {
	t.Cleanup(func() { hooks.SetHumanInput(nil); hooks.SetLiveDisplay(nil) })
	hooks.SetLiveDisplay(&recorder{})
	second := answering("from the second")
	first := human(func(ctx context.Context, prompt, message string) (string, error) {
		hooks.SetHumanInput(second)
		hooks.SetLiveDisplay(&recorder{})
		return ask(hooks.WithHumanInput(ctx, second), prompt, message)
	})
	got, err := ask(hooks.WithHumanInput(t.Context(), first), "p", "m")
	require.NoError(t, err)
	assert.Equal(t, "from the second", got)
}

func TestHuman_parallelQuestions(t *testing.T) {
	t.Parallel()
	const n = 50
	in, answers := io.Pipe()
	out := writerFunc(func(p []byte) (int, error) {
		name := strings.Fields(string(p))[0]
		go func() { _, _ = io.WriteString(answers, "re "+name+"\n") }()
		return len(p), nil
	})
	c := hooks.NewConsole(in, out)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			name := strings.Repeat("x", i+1)
			got, err := ask(hooks.WithHumanInput(t.Context(), c), name, "?")
			assert.NoError(t, err)
			assert.Equal(t, "re "+name, got)
		})
	}
	wg.Wait()
}

func TestNewConsole_nil(t *testing.T) {
	t.Parallel()
	assert.PanicsWithValue(t, "hooks: NewConsole: the reader is nil", func() { hooks.NewConsole(nil, io.Discard) })
	assert.PanicsWithValue(t, "hooks: NewConsole: the writer is nil", func() { hooks.NewConsole(strings.NewReader(""), nil) })
}

func TestConsole_asksAndReads(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := hooks.NewConsole(strings.NewReader(" yes \r\nno\n"), &out)
	for _, want := range []string{"yes", "no"} {
		got, err := c.RequestInput(t.Context(), "Run\u200b rm?", "[y/N]:")
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	assert.Equal(t, strings.Repeat(`Run\u200b rm?`+"\n[y/N]: ", 2), out.String())
	_, err := c.RequestInput(t.Context(), "p", "m")
	require.ErrorIs(t, err, io.EOF)
}

func TestConsole_notMadeWithNewConsole(t *testing.T) {
	t.Parallel()
	for _, c := range []*hooks.Console{nil, {}} {
		_, err := c.RequestInput(t.Context(), "p", "m")
		require.ErrorContains(t, err, "not made with NewConsole")
	}
}

func TestConsole_readerThatDoesNotReturn(t *testing.T) {
	t.Parallel()
	_, err := hooks.NewConsole(readerFunc(func([]byte) (int, error) { panic("secret") }), io.Discard).RequestInput(t.Context(), "p", "m")
	p, ok := errors.AsType[*hooks.PanicError](err)
	require.True(t, ok, "%T", err)
	assert.Equal(t, "secret", p.Value)
	assert.Contains(t, string(p.Stack), "TestConsole_readerThatDoesNotReturn", "the stack is the reader's")
	assert.NotContains(t, err.Error(), "secret")

	_, err = hooks.NewConsole(readerFunc(func([]byte) (int, error) { exit(); return 0, nil }), io.Discard).RequestInput(t.Context(), "p", "m")
	require.ErrorIs(t, err, hooks.ErrGoexit)
}

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

func TestDisplay_pausedDuringEachQuestion(t *testing.T) {
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

func TestDisplay_pausedAroundPromptAndRead(t *testing.T) {
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

func TestDisplay_resumedWhenTheContextIsDone(t *testing.T) {
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

func TestDisplay_leftAloneWhenNobodyIsAsked(t *testing.T) {
	d := &recorder{}
	show(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := ask(hooks.WithHumanInput(ctx, answering("yes")), "p", "m")
	require.Error(t, err)
	assert.Empty(t, d.String())
}

func TestDisplay_questionCancelledDuringPause(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := &recorder{pause: cancel}
	show(t, d)
	_, err := ask(hooks.WithHumanInput(ctx, d.asking("yes", nil)), "p", "m")
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, "pause resume", d.String())
}

func TestDisplay_pauseThatDoesNotReturn(t *testing.T) {
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

func TestDisplay_resumeThatDoesNotReturn(t *testing.T) {
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

func TestDisplay_pausedWhileAnyQuestionIsOpen(t *testing.T) {
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

func TestDisplay_questionsWaitForPauseAndResume(t *testing.T) {
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

func TestDisplay_pausedAgainWhenAPauseFails(t *testing.T) {
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

func TestDisplay_replacedDuringAQuestion(t *testing.T) {
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

func TestDisplay_replacedDuringTwoQuestions(t *testing.T) {
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

func TestDisplay_uncomparable(t *testing.T) {
	var all journal
	show(t, drawing{[]func(){func() { all.add("pause") }, func() { all.add("resume") }}})
	h := human(func(ctx context.Context, prompt, message string) (string, error) {
		return ask(hooks.WithHumanInput(ctx, all.asking("", nil)), prompt, message)
	})
	_, err := ask(hooks.WithHumanInput(t.Context(), h), "p", "m")
	require.NoError(t, err)
	assert.Equal(t, "pause ask resume", all.String())
}

func TestDisplay_balancedUnderConcurrency(t *testing.T) {
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

// seamApproval is a guard that lets a tool run only if a person says yes.
func seamApproval(r *hooks.Registry, tools ...string) {
	seamOnTool(r, hooks.PreToolCall, func(ctx context.Context, call *hooks.ToolCall) error {
		args, err := call.Arguments()
		if err != nil {
			return err
		}
		answer, err := call.RequestHumanInput(ctx, fmt.Sprintf("The agent wants to run %q with %s.", call.Name, args), `Type "yes" to allow it:`)
		if err != nil {
			return err
		}
		if !strings.EqualFold(answer, "yes") {
			return hooks.Abort("the operator refused")
		}
		return nil
	}, hooks.AsGuard(), hooks.WithName("approval"), hooks.WithTools(tools...))
}

func TestApproval_nobodyCanGiveIt(t *testing.T) {
	t.Parallel()
	gone := errors.New("tty gone")
	for name, tc := range map[string]struct {
		in    func() io.Reader
		cause error
	}{
		"end of input":       {func() io.Reader { return strings.NewReader("") }, io.EOF},
		"a reader that died": {func() io.Reader { return iotest.ErrReader(gone) }, gone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				seamApproval(r, "*")
				ctx = hooks.WithHumanInput(ctx, hooks.NewConsole(tc.in(), io.Discard))
				call := &hooks.ToolCall{Name: "rm"}
				require.NoError(t, run(ctx, call, func(context.Context, *hooks.ToolCall) error { t.Error("the tool ran"); return nil }))
				require.NotNil(t, call.Blocked)
				assert.ErrorIs(t, call.Blocked, tc.cause)
				assert.Equal(t, "approval", call.Blocked.Source)
				assert.Equal(t, "Tool execution blocked by hook. Tool: rm. Reason: approval failed", call.Result)
			})
		})
	}
}

func TestApproval_onlyYesApproves(t *testing.T) {
	t.Parallel()
	for answer, approved := range map[string]bool{
		"yes": true, "YES": true, " yes \r": true, "\tYes": true,
		"": false, "n": false, "no": false, "N": false, "yep": false, "y": false, "yes please": false, "да": false,
		"y\x00": false, "yes\x00": false, "yes yes": false, "approve": false,
	} {
		t.Run(fmt.Sprintf("%q", answer), func(t *testing.T) {
			t.Parallel()
			seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
				seamApproval(r, "*")
				ctx = hooks.WithHumanInput(ctx, hooks.NewConsole(strings.NewReader(answer+"\n"), io.Discard))
				call := &hooks.ToolCall{Name: "rm"}
				require.NoError(t, run(ctx, call, seamReturns("gone")))
				assert.Equal(t, approved, call.Ran())
				assert.Equal(t, approved, call.Blocked == nil)
			})
		})
	}
}

func TestApproval_parallelCalls(t *testing.T) {
	t.Parallel()
	ctx, r := seamScope(t)
	seamApproval(r, "call-1", "call-2")
	in, typing := io.Pipe()
	t.Cleanup(func() { _ = typing.Close() })
	var shown seamScreen
	ctx = hooks.WithHumanInput(ctx, hooks.NewConsole(in, &shown))
	ran := make(chan struct{})
	go func() {
		<-ran // the call before them needs no approval, and nobody has answered yet
		_, _ = io.WriteString(typing, "yes\nno\n")
	}()
	calls := seamCalls(3)
	exit := seamLeave(t, func() error {
		return hooks.RunTools(ctx, calls, 0, func(_ context.Context, call *hooks.ToolCall) error {
			if call.ID == "0" {
				close(ran)
			}
			call.Result = "ok"
			return nil
		})
	})
	require.Equal(t, seamExit{}, exit)
	assert.Equal(t, "ok", calls[0].Result)
	assert.Equal(t, "ok", calls[1].Result)
	assert.Nil(t, calls[1].Blocked)
	require.NotNil(t, calls[2].Blocked)
	assert.Equal(t, "the operator refused", calls[2].Blocked.Reason)
	assert.False(t, calls[2].Ran())

	text := shown.String()
	assert.Equal(t, 2, strings.Count(text, "The agent wants to run"))
	one, two := strings.Index(text, `"call-1"`), strings.Index(text, `"call-2"`)
	require.Positive(t, one)
	require.Greater(t, two, one, "questions come in the order of the calls")
	assert.Equal(t, 1, strings.Count(text[one:two], `Type "yes" to allow it:`), "a question is not interrupted by another")
}

// seamScreen is what a person sees.
type seamScreen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *seamScreen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *seamScreen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func TestApproval_ofAModelCall(t *testing.T) {
	t.Parallel()
	seamEachModel(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunModel) {
		seamOnModel(r, hooks.PreModelCall, func(ctx context.Context, m *hooks.ModelCall) error {
			answer, err := m.RequestHumanInput(ctx, "The budget is spent.", "Go on?")
			if err != nil {
				return err
			}
			if answer != "yes" {
				return hooks.Abort("over budget")
			}
			return nil
		}, hooks.AsGuard())
		for answer, want := range map[string]string{" yes \n": "", "no\n": "over budget", "": "a guard failed"} {
			ctx := hooks.WithHumanInput(ctx, hooks.NewConsole(strings.NewReader(answer), io.Discard))
			ran := false
			err := run(ctx, &hooks.ModelCall{}, func(context.Context, *hooks.ModelCall) error { ran = true; return nil })
			assert.Equal(t, want == "", ran, "%q", answer)
			if want != "" {
				abort, ok := errors.AsType[*hooks.HookAborted](err)
				require.True(t, ok)
				assert.Equal(t, want, abort.Reason)
			}
		}
	})
}

func TestApproval_outlastsTheRun(t *testing.T) {
	t.Parallel()
	seamEachTool(t, func(t *testing.T, ctx context.Context, r *hooks.Registry, run seamRunTool) {
		seamApproval(r, "*")
		in, typing := io.Pipe()
		t.Cleanup(func() { _ = typing.Close() })
		asked := make(chan struct{})
		ctx, cancel := context.WithCancel(hooks.WithHumanInput(ctx, seamAsks{hooks.NewConsole(in, io.Discard), asked}))
		go func() { <-asked; cancel() }()
		call := &hooks.ToolCall{Name: "rm"}
		exit := seamLeave(t, func() error {
			return run(ctx, call, func(context.Context, *hooks.ToolCall) error { t.Error("the tool ran"); return nil })
		})
		assert.Nil(t, exit.value)
		assert.NotEmpty(t, call.Result)
		assert.False(t, call.Ran())
		assert.True(t, call.IsError())
	})
}

// seamAsks tells when a question is put.
type seamAsks struct {
	*hooks.Console
	asked chan struct{}
}

func (a seamAsks) RequestInput(ctx context.Context, prompt, message string) (string, error) {
	close(a.asked)
	return a.Console.RequestInput(ctx, prompt, message)
}
