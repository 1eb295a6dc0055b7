// The arguments of a call as guards read them: what isn't there, or isn't of the
// type, is an error, so that no spelling passes a comparison.

package policy

import (
	"fmt"

	"github.com/loophooks/hooks"
)

// stringArg returns the argument key, which must be text. The error names the
// key and never the value.
func stringArg(call *hooks.ToolCall, key string) (string, error) {
	s, ok := call.Input[key].(string)
	if !ok {
		return "", fmt.Errorf("the argument %q is missing or isn't text", key)
	}
	return s, nil
}
