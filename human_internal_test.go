package hooks

import (
	"context"
	"io"
	"math"
	"strings"
	"testing"

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

// It doesn't run in parallel: it looks at what all of the package's questions
// leave behind.
func TestHuman_leavesNothingBehind(t *testing.T) {
	for i := range 10_000 {
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
	assert.Zero(t, humanTurns.Len())
}
