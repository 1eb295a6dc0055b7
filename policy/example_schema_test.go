package policy_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
)

// The arguments of a payment are held to a schema. The model reads what to mend, by
// place and keyword, and none of the values.
func ExampleSchema() {
	reg := hooks.NewRegistry()
	policy.Schema{Schemas: map[string]json.RawMessage{"pay": json.RawMessage(`{
		"type": "object",
		"properties": {
			"to":     {"type": "string", "pattern": "^[A-Z]{2}[0-9]{2} "},
			"amount": {"type": "integer", "minimum": 1, "maximum": 50000}
		},
		"required": ["to", "amount"],
		"additionalProperties": false
	}`)}}.Register(hooks.In(reg))
	ctx := hooks.WithScope(context.Background(), reg)

	for _, arguments := range []string{
		`{"to": "NO93 8601", "amount": 1200}`,
		`{"to": "8601", "amount": 12.5}`,
		`{"to": "NO93 8601", "Amount": 1200}`,
	} {
		call := &hooks.ToolCall{Name: "pay"}
		_ = call.SetArguments(arguments) // the seam tells the model what is wrong with it
		err := hooks.RunTool(ctx, call, func(_ context.Context, call *hooks.ToolCall) error {
			call.Result = "paid"
			return nil
		})
		if err != nil {
			fmt.Println("the run stops:", err)
			return
		}
		fmt.Println(call.Result)
	}
	// Output:
	// paid
	// Tool execution blocked by hook. Tool: pay. Reason: /amount: type, want integer; /to: pattern
	// Tool execution blocked by hook. Tool: pay. Reason: missing "amount"; unknown "Amount"; unknown "Amount", want "amount"
}
