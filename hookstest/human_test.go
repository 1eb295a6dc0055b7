package hookstest_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/hookstest"
)

func askHuman(ctx context.Context, h hooks.HumanInput, prompt string) (string, error) {
	return (&hooks.ToolCall{}).RequestHumanInput(hooks.WithHumanInput(ctx, h), prompt, "yes or no?")
}

func TestHuman_answersByScript(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone for lunch")
	h := hookstest.NewHuman(t, hookstest.Types(" yes\n"), hookstest.EndOfInput(), hookstest.Fails(gone))
	got, err := askHuman(t.Context(), h, "delete a?")
	require.NoError(t, err)
	assert.Equal(t, "yes", got)
	_, err = askHuman(t.Context(), h, "delete b?")
	require.ErrorIs(t, err, io.EOF)
	_, err = askHuman(t.Context(), h, "delete c?")
	require.ErrorIs(t, err, gone)
	assert.Equal(t, []hookstest.Question{
		{Prompt: "delete a?", Message: "yes or no?"},
		{Prompt: "delete b?", Message: "yes or no?"},
		{Prompt: "delete c?", Message: "yes or no?"},
	}, h.Questions())
}

func TestHuman_noAnswerWaitsForContext(t *testing.T) {
	t.Parallel()
	h := hookstest.NewHuman(t, hookstest.NoAnswer())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := h.RequestInput(ctx, "delete?", "")
		done <- err
	}()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

func TestHuman_askedTooOften(t *testing.T) {
	t.Parallel()
	tb := &fakeTB{TB: t}
	h := hookstest.NewHuman(tb, hookstest.Types("yes"))
	_, err := askHuman(t.Context(), h, "delete a?")
	require.NoError(t, err)
	_, err = askHuman(t.Context(), h, "delete b?")
	require.ErrorIs(t, err, hookstest.ErrUnscripted)
	assert.Equal(t, []string{"the human was asked more often than scripted (1 answers):" +
		"\n\t1. \"delete a?\" \"yes or no?\"\n\t2. \"delete b?\" \"yes or no?\""}, tb.errors)
	tb.end()
	assert.Len(t, tb.errors, 1)
}

func TestHuman_answersLeft(t *testing.T) {
	t.Parallel()
	tb := &fakeTB{TB: t}
	hookstest.NewHuman(tb, hookstest.Types("yes"), hookstest.Types("no"))
	tb.end()
	assert.Equal(t, []string{"the human was asked 0 of 2 scripted questions:"}, tb.errors)
}

func TestHuman_askedAfterItsTest(t *testing.T) {
	t.Parallel()
	tb := &fakeTB{TB: t}
	h := hookstest.NewHuman(tb)
	tb.end()
	_, err := h.RequestInput(t.Context(), "delete?", "")
	require.ErrorIs(t, err, hookstest.ErrUnscripted)
	assert.Empty(t, tb.errors)
}

func TestHuman_concurrent(t *testing.T) {
	t.Parallel()
	var script []hookstest.Answer
	for range 20 {
		script = append(script, hookstest.Types("yes"))
	}
	h := hookstest.NewHuman(t, script...)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			got, err := h.RequestInput(t.Context(), "delete?", "")
			assert.NoError(t, err)
			assert.Equal(t, "yes", got)
			_ = h.Questions()
		})
	}
	wg.Wait()
	assert.Len(t, h.Questions(), 20)
}
