package recipes_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/loophooks/hooks"
)

// ledger stands for a database.
type ledger struct{ log []string }

func (l *ledger) begin() *transaction { return &transaction{l, nil} }

type transaction struct {
	ledger *ledger
	writes []string
}

func (tx *transaction) write(s string) { tx.writes = append(tx.writes, s) }
func (tx *transaction) commit()        { tx.ledger.log = append(tx.ledger.log, tx.writes...) }
func (tx *transaction) rollback()      { tx.writes = nil }

type txKey struct{}

// A transaction around a tool: what is acquired in front of the body is released
// behind it on every way out. In a pre hook it would leak where a guard behind
// refuses the call. The tool finds the transaction in its ctx.
func Example_transaction() {
	reg := hooks.NewRegistry()
	db := &ledger{}
	hooks.Around(hooks.ToolBody, func(ctx context.Context, call *hooks.ToolCall, next func(context.Context) error) error {
		tx := db.begin()
		defer tx.rollback() // of what wasn't committed, also after a panic
		if err := next(context.WithValue(ctx, txKey{}, tx)); err != nil {
			return err
		}
		tx.commit()
		return nil
	}, hooks.In(reg), hooks.WithName("transaction"), hooks.WithTools("transfer"), hooks.WithFailClosed())

	transfer := func(failure error) *hooks.ToolCall {
		call := &hooks.ToolCall{Name: "transfer"}
		_ = hooks.RunTool(hooks.WithScope(context.Background(), reg), call, func(ctx context.Context, call *hooks.ToolCall) error {
			tx := ctx.Value(txKey{}).(*transaction)
			tx.write("take 5 from a")
			if failure != nil {
				return failure
			}
			tx.write("give 5 to b")
			call.Result = "done"
			return nil
		})
		return call
	}
	fmt.Println(transfer(errors.New("b has no account")).Result, db.log)
	fmt.Println(transfer(nil).Result, db.log)
	// Output:
	// b has no account []
	// done [take 5 from a give 5 to b]
}
