package hooks_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

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

func TestAnswerIsTrimmedWhateverGaveIt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ given, want string }{
		{"yes", "yes"}, {" yes \r\n", "yes"}, {"", ""}, {"\r\n", ""}, {" \t ", ""}, {"\u00a0two words\n", "two words"},
	} {
		got, err := ask(hooks.WithHumanInput(t.Context(), answering(tc.given)), "p", "m")
		require.NoError(t, err)
		assert.Equal(t, tc.want, got, "%q", tc.given)
	}
}

func TestHumanInputGetsPromptAndMessageAsTheyAre(t *testing.T) {
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

func TestAnswerWithAnErrorIsNoAnswer(t *testing.T) {
	t.Parallel()
	gone := errors.New("tty gone")
	h := human(func(context.Context, string, string) (string, error) { return "yes", gone })
	got, err := ask(hooks.WithHumanInput(t.Context(), h), "p", "m")
	require.ErrorIs(t, err, gone)
	assert.Empty(t, got)
}

func TestAnswerThatComesWhenTheContextIsDoneIsNoAnswer(t *testing.T) {
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

func TestContextDoneFromTheStartAsksNobody(t *testing.T) {
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

func TestInnermostHumanInputAnswers(t *testing.T) {
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

func TestWithHumanInputRefusesNil(t *testing.T) {
	t.Parallel()
	assert.PanicsWithValue(t, "hooks: WithHumanInput: the HumanInput is nil", func() {
		hooks.WithHumanInput(t.Context(), nil)
	})
}

func TestSetHumanInputNilRestoresTheConsoleOnStandardInputAndError(t *testing.T) {
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

func TestOneHumanInputIsAskedOneQuestionAtATime(t *testing.T) {
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

func TestWaitingForOnesTurnEndsWithTheContext(t *testing.T) {
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

func TestTurnIsGivenBackHoweverTheQuestionEnds(t *testing.T) {
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

func TestPanicOfAHumanInputReachesTheCaller(t *testing.T) {
	t.Parallel()
	ctx := hooks.WithHumanInput(t.Context(), human(func(context.Context, string, string) (string, error) { panic("tty gone") }))
	assert.PanicsWithValue(t, "tty gone", func() { _, _ = ask(ctx, "p", "m") })
}

func TestHumanInputMayAskAnotherOneAndChangeTheProcess(t *testing.T) {
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

func TestParallelQuestionsGetTheirOwnAnswers(t *testing.T) {
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
