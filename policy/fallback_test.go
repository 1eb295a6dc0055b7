package policy_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// models returns a body that fails for the models with an error and answers for the
// others, and the models that were asked.
func models(fail map[string]error) (body func(context.Context, *hooks.ModelCall) error, asked *[]string) {
	asked = new([]string)
	return func(_ context.Context, m *hooks.ModelCall) error {
		*asked = append(*asked, m.Model)
		m.Usage.In = 10
		if err := fail[m.Model]; err != nil {
			return err
		}
		m.Response = "says " + m.Model
		return nil
	}, asked
}

func TestFallback_whoAnswers(t *testing.T) {
	t.Parallel()
	large, small, tiny := errors.New("large"), errors.New("small"), errors.New("tiny")
	for name, tt := range map[string]struct {
		models []string
		call   string // default large
		fail   map[string]error
		asked  []string
		model  string
		errs   []error // joined; one: as it was
	}{
		"the first answers":           {fail: nil, asked: []string{"large"}, model: "large"},
		"the second answers":          {fail: map[string]error{"large": large}, asked: []string{"large", "small"}, model: "small"},
		"the third answers":           {fail: map[string]error{"large": large, "small": small}, asked: []string{"large", "small", "tiny"}, model: "tiny"},
		"nobody answers":              {fail: map[string]error{"large": large, "small": small, "tiny": tiny}, asked: []string{"large", "small", "tiny"}, model: "large", errs: []error{large, small, tiny}},
		"a model isn't asked again":   {models: []string{"large", "small"}, fail: map[string]error{"large": large}, asked: []string{"large", "small"}, model: "small"},
		"nor where it isn't first":    {models: []string{"tiny", "large"}, fail: map[string]error{"large": large, "tiny": tiny}, asked: []string{"large", "tiny"}, model: "large", errs: []error{large, tiny}},
		"there is no other":           {models: []string{"large"}, fail: map[string]error{"large": large}, asked: []string{"large"}, model: "large", errs: []error{large}},
		"a model without a name":      {call: "-", fail: map[string]error{"": large}, asked: []string{"", "small"}, model: "small"},
		"a loop that can't switch":    {fail: map[string]error{"large": large, "small": errors.ErrUnsupported}, asked: []string{"large", "small"}, model: "large", errs: []error{large}},
		"that says so in other words": {fail: map[string]error{"large": large, "small": fmt.Errorf("no: %w", errors.ErrUnsupported)}, asked: []string{"large", "small"}, model: "large", errs: []error{large}},
		"or the third time":           {fail: map[string]error{"large": large, "small": small, "tiny": errors.ErrUnsupported}, asked: []string{"large", "small", "tiny"}, model: "large", errs: []error{large}},
		"or at once":                  {fail: map[string]error{"large": errors.ErrUnsupported}, asked: []string{"large"}, model: "large", errs: []error{errors.ErrUnsupported}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := hooks.NewRegistry()
			if tt.models == nil {
				tt.models = []string{"small", "tiny"}
			}
			policy.Fallback{Models: tt.models}.Register(hooks.In(reg))
			body, asked := models(tt.fail)
			m := &hooks.ModelCall{Model: "large"}
			if tt.call == "-" {
				m.Model = ""
			}
			err := askModel(t.Context(), reg, m, body)
			assert.Equal(t, tt.asked, *asked)
			assert.Equal(t, tt.model, m.Model)
			assert.Equal(t, 10*len(*asked), m.Usage.In)
			switch len(tt.errs) {
			case 0:
				require.NoError(t, err)
				assert.Equal(t, "says "+tt.model, m.Response)
			case 1:
				assert.Same(t, tt.errs[0], err)
			default:
				assert.Equal(t, errors.Join(tt.errs...), err)
			}
		})
	}
}

func TestFallback_guardsSeeEachModel(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Fallback{Models: []string{"small", "tiny"}}.Register(hooks.In(reg))
	var seen []string
	hooks.Guard(hooks.PreModelCall, func(_ context.Context, m *hooks.ModelCall) error {
		seen = append(seen, m.Model)
		if m.Model == "tiny" {
			return hooks.Abort("tiny isn't good enough")
		}
		return nil
	}, hooks.In(reg))

	body, _ := models(map[string]error{"large": errBoom})
	m := &hooks.ModelCall{Model: "large"}
	require.NoError(t, askModel(t.Context(), reg, m, body))
	assert.Equal(t, []string{"large", "small"}, seen)
	assert.Equal(t, "small", m.Model)

	seen = nil
	body, asked := models(map[string]error{"large": errBoom, "small": errBoom})
	m = &hooks.ModelCall{Model: "large"}
	err := askModel(t.Context(), reg, m, body)
	abort, ok := errors.AsType[*hooks.HookAborted](err)
	require.True(t, ok)
	assert.Equal(t, "tiny isn't good enough", abort.Reason)
	assert.Equal(t, []string{"large", "small", "tiny"}, seen)
	assert.Equal(t, []string{"large", "small"}, *asked)
	assert.Equal(t, "large", m.Model)
	assert.Empty(t, m.Response)
}

func TestFallback_neverBehind(t *testing.T) {
	t.Parallel()
	abort, waits := hooks.Abort("no"), hooks.PassThrough(errBoom)
	for name, err := range map[string]error{
		"an abort":        abort,
		"an interrupt":    waits,
		"too deep":        hooks.ErrTooDeep,
		"another attempt": hooks.ErrNotAgain,
		"wrapped":         fmt.Errorf("x: %w", abort),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := hooks.NewRegistry()
			policy.Fallback{Models: []string{"small"}, If: func(*hooks.ModelCall, error) bool { return true }}.Register(hooks.In(reg))
			body, asked := models(map[string]error{"large": err})
			m := &hooks.ModelCall{Model: "large"}
			assert.Equal(t, err, askModel(t.Context(), reg, m, body))
			assert.Equal(t, []string{"large"}, *asked)
		})
	}
}

func TestFallback_panicOfTheSecondModel(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Fallback{Models: []string{"small", "tiny"}}.Register(hooks.In(reg))
	m := &hooks.ModelCall{Model: "large"}
	var asked []string
	assert.PanicsWithValue(t, "bug", func() {
		_ = askModel(t.Context(), reg, m, func(_ context.Context, m *hooks.ModelCall) error {
			if asked = append(asked, m.Model); m.Model == "small" {
				panic("bug")
			}
			return errBoom
		})
	})
	assert.Equal(t, []string{"large", "small"}, asked)
	assert.Equal(t, "large", m.Model)
}

func TestFallback_doneCtx(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	policy.Fallback{Models: []string{"small", "tiny"}}.Register(hooks.In(reg))
	ctx, cancel := context.WithCancel(t.Context())
	var asked []string
	err := askModel(ctx, reg, &hooks.ModelCall{Model: "large"}, func(ctx context.Context, m *hooks.ModelCall) error {
		if asked = append(asked, m.Model); m.Model == "small" {
			cancel()
			return ctx.Err()
		}
		return errBoom
	})
	assert.Equal(t, []string{"large", "small"}, asked)
	assert.Equal(t, errors.Join(errBoom, context.Canceled), err)
}

func TestFallback_if(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	var seen []string
	policy.Fallback{Models: []string{"small", "tiny"}, If: func(m *hooks.ModelCall, err error) bool {
		seen = append(seen, fmt.Sprint(m.Model, ": ", err))
		return errors.As(err, new(statusError))
	}}.Register(hooks.In(reg))

	body, asked := models(map[string]error{"large": statusError(503), "small": errBoom})
	m := &hooks.ModelCall{Model: "large"}
	err := askModel(t.Context(), reg, m, body)
	assert.Equal(t, errors.Join(statusError(503), errBoom), err)
	assert.Equal(t, []string{"large", "small"}, *asked)
	assert.Equal(t, []string{"large: status 503", "small: boom"}, seen)
	assert.Equal(t, "large", m.Model)

	body, _ = models(map[string]error{"large": errBoom})
	assert.Same(t, errBoom, askModel(t.Context(), reg, m, body))
}

func TestFallback_ifThatPanics(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	calls := 0
	policy.Fallback{Models: []string{"small", "tiny"}, If: func(*hooks.ModelCall, error) bool {
		if calls++; calls == 2 {
			panic("bug")
		}
		return true
	}}.Register(hooks.In(reg))
	body, _ := models(map[string]error{"large": errBoom, "small": statusError(500)})
	m := &hooks.ModelCall{Model: "large"}
	assert.Equal(t, statusError(500), askModel(t.Context(), reg, m, body), "what it wrapped stands")
	assert.Equal(t, "large", m.Model)
}

func TestFallback_afterSomethingWasShown(t *testing.T) {
	t.Parallel()
	for _, kind := range []hooks.ChunkKind{hooks.ChunkText, hooks.ChunkReasoning} {
		reg := hooks.NewRegistry()
		policy.Fallback{Models: []string{"small"}, If: func(*hooks.ModelCall, error) bool {
			assert.NotEqual(t, hooks.ChunkText, kind, "there is nothing to decide")
			return true
		}}.Register(hooks.In(reg))
		var asked []string
		m := &hooks.ModelCall{Model: "large"}
		err := askModel(t.Context(), reg, m, func(ctx context.Context, m *hooks.ModelCall) error {
			asked = append(asked, m.Model)
			out := hooks.OpenStream(ctx, hooks.ModelStream, m, func(hooks.Chunk) error { return nil })
			_ = out.Push(hooks.Chunk{Kind: kind, Text: "Well, "})
			return out.End(errBoom)
		})
		assert.Same(t, errBoom, err)
		assert.Equal(t, []string{"large"}, asked)
		assert.Equal(t, "large", m.Model)
	}
}

// A fallback is outside of a retry: each model has all of its attempts.
func TestFallback_aroundRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := hooks.NewRegistry()
		policy.Retry{Max: 2}.Register(hooks.In(reg))
		policy.Fallback{Models: []string{"small"}}.Register(hooks.In(reg))
		body, asked := models(map[string]error{"large": statusError(503)})
		m := &hooks.ModelCall{Model: "large"}
		require.NoError(t, askModel(t.Context(), reg, m, body))
		assert.Equal(t, []string{"large", "large", "small"}, *asked)
	})
}

func TestFallback_keepsItsModels(t *testing.T) {
	t.Parallel()
	reg := hooks.NewRegistry()
	list := []string{"small"}
	policy.Fallback{Models: list}.Register(hooks.In(reg))
	list[0] = "other"
	body, asked := models(map[string]error{"large": errBoom})
	require.NoError(t, askModel(t.Context(), reg, &hooks.ModelCall{Model: "large"}, body))
	assert.Equal(t, []string{"large", "small"}, *asked)
}
