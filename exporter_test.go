package hooks_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestAnEventAsJSONHoldsTheTextOfErrorsAndNoPanicValue(t *testing.T) {
	t.Parallel()
	out, err := json.Marshal(hooks.HookDispatchedEvent{Point: "pre_step", Hooks: []hooks.HookRun{
		{Name: "panics", Outcome: hooks.OutcomeFailed, Err: &hooks.PanicError{Value: "sk-secret", Stack: []byte("stack")}},
		{Name: "fails", Outcome: hooks.OutcomeFailed, Err: errors.New("database is down")},
		{Name: "fine", Outcome: hooks.OutcomeProceeded},
	}})
	require.NoError(t, err)
	assert.NotContains(t, string(out), "sk-secret")
	assert.Contains(t, string(out), `"Name":"fails","Outcome":"failed","Duration":0,"Err":"database is down"`)
	assert.Contains(t, string(out), `"Err":"hooks: panic with a value of type string"`)
	assert.Contains(t, string(out), `{"Name":"fine","Outcome":"proceeded","Duration":0}`)

	bare, err := json.Marshal(&hooks.PanicError{Value: "sk-secret"})
	require.NoError(t, err)
	assert.NotContains(t, string(bare), "sk-secret")
}

func TestACallThatIsNotBlockedSaysSoWhenPrinted(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "<nil *HookAborted>", fmt.Sprint((&hooks.ToolCall{}).Blocked))
}
