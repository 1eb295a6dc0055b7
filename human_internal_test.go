package hooks

import (
	"context"
	"io"
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type fixedAnswer struct{ text string }

func (a fixedAnswer) RequestInput(context.Context, string, string) (string, error) {
	return a.text, nil
}

type funcAnswer func() string

func (f funcAnswer) RequestInput(context.Context, string, string) (string, error) { return f(), nil }

// nanAnswer can be compared, but is not equal to itself.
type nanAnswer float64

func (nanAnswer) RequestInput(context.Context, string, string) (string, error) { return "nan", nil }

// These tests don't run in parallel: they look at what all of the package's
// questions leave behind.

func held[V any](p *sharedPool[V]) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.entries)
}

func TestQuestionsOfManyRunsLeaveNothingBehind(t *testing.T) {
	for i := range 100_000 {
		var h HumanInput
		switch i % 5 {
		case 0:
			h = &fixedAnswer{"pointer"}
		case 1:
			h = fixedAnswer{strings.Repeat("v", i%100)}
		case 2:
			h = funcAnswer(func() string { return "func" })
		case 3:
			h = nanAnswer(math.NaN())
		case 4:
			h = NewConsole(strings.NewReader("yes\n"), io.Discard)
		}
		ctx := WithHumanInput(t.Context(), h)
		if i%2 == 0 {
			_, err := requestHumanInput(ctx, "p", "m")
			require.NoError(t, err)
		}
	}
	assert.Zero(t, held(&humanTurns))
	assert.Zero(t, held(&lineReaders))
}

// doneLater is a ctx that is found to be done only when it is looked at for the
// second time.
type doneLater struct {
	context.Context
	looks int
}

func (c *doneLater) Err() error {
	c.looks++
	if c.looks == 1 {
		return nil
	}
	return context.Canceled
}

func TestTurnIsNotTakenWhenTheContextIsDoneMeanwhile(t *testing.T) {
	turn := newTurnstile()
	require.ErrorIs(t, turn.take(&doneLater{Context: t.Context()}), context.Canceled)
	require.NoError(t, turn.take(t.Context()), "the turn is free")
}

func TestCancelledQuestionKeepsItsReaderOnlyAsLongAsItReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, answers := io.Pipe()
		ctx, cancel := context.WithCancel(WithHumanInput(t.Context(), NewConsole(in, io.Discard)))
		done := make(chan error)
		go func() {
			_, err := requestHumanInput(ctx, "p", "m")
			done <- err
		}()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		assert.Zero(t, held(&humanTurns))
		assert.Equal(t, 1, held(&lineReaders), "the Read that can't be called back")
		require.NoError(t, answers.Close())
		synctest.Wait()
		assert.Zero(t, held(&lineReaders))
	})
}
