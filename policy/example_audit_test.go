package policy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
)

// What a run does is recorded in a log in which no line can be changed without notice.
func ExampleAudit() {
	key := []byte("32 random bytes from the secrets") // which the log is verified with
	var file bytes.Buffer                             // a program has a file; see OpenAuditLog
	log := policy.NewAuditLog(&file, key)

	run := hooks.NewRegistry() // a program without tenants or tests leaves In out
	policy.Audit{Log: log}.Register(hooks.In(run))

	ctx := hooks.WithScope(context.Background(), run)
	err := hooks.RunExecution(ctx, &hooks.Execution{}, func(ctx context.Context, _ *hooks.Execution) error {
		call := &hooks.ToolCall{ID: "1", Name: "pay", Input: map[string]any{"amount": 12}}
		return hooks.RunTool(ctx, call, func(context.Context, *hooks.ToolCall) error { return nil })
	})
	if err != nil {
		fmt.Println("the run stops:", err)
		return
	}
	anchor := log.Head() // to be kept somewhere else

	head, err := policy.VerifyAudit(bytes.NewReader(file.Bytes()), key)
	fmt.Println(head.Seq, "records,", head == anchor, err)

	forged := bytes.Replace(file.Bytes(), []byte(`"tool":"pay"`), []byte(`"tool":"ask"`), 1)
	_, err = policy.VerifyAudit(bytes.NewReader(forged), key)
	if wrong, ok := errors.AsType[*policy.AuditError](err); ok {
		fmt.Println("line", wrong.Line, "was changed")
	}
	// Output:
	// 4 records, true <nil>
	// line 2 was changed
}
