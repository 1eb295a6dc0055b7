package main

// The end of the day: what the runs have cost, and whether the record of them is whole.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/loophooks/hooks/policy"
)

// bill is the sum of the bills that Budget reports, one at the end of each run. A run that
// has waited has two.
type bill struct {
	mu  sync.Mutex
	sum policy.Bill
}

func (b *bill) add(_ context.Context, run policy.Bill) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sum.ToolCalls += run.ToolCalls
	b.sum.ModelCalls += run.ModelCalls
	b.sum.Usage.In += run.Usage.In
	b.sum.Usage.Out += run.Usage.Out
	b.sum.Cost = b.sum.Cost.Add(run.Cost)
}

func (b *bill) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprintf("%d model calls and %d tool calls, %d tokens in and %d out: %v",
		b.sum.ModelCalls, b.sum.ToolCalls, b.sum.Usage.In, b.sum.Usage.Out, b.sum.Cost)
}

// printEnd prints the bill, and what VerifyAudit says of the log and of a forged copy.
func printEnd(w io.Writer, o *office, total *bill) error {
	anchor := o.audit.Head() // a program keeps it somewhere else
	log, err := os.ReadFile(o.path("audit.jsonl"))
	if err != nil {
		return err
	}
	head, err := policy.VerifyAudit(bytes.NewReader(log), o.auditKey)
	if err != nil {
		return err
	}
	whole := "its last record is the last that was written"
	if head != anchor {
		whole = "but records are missing at its end"
	}
	_, err = fmt.Fprintf(w, "The bill\n  %v\n\nThe audit log\n  %d records, none changed, and %s\n  a copy in which a payment is made a search: %s\n",
		total, head.Seq, whole, forged(log, o.auditKey))
	return err
}

// forged says what VerifyAudit finds in a copy of the log that somebody has changed.
func forged(log, key []byte) string {
	_, err := policy.VerifyAudit(bytes.NewReader(bytes.Replace(log, []byte(`"tool":"pay"`), []byte(`"tool":"search"`), 1)), key)
	if wrong, ok := errors.AsType[*policy.AuditError](err); ok {
		return wrong.Error()
	}
	return fmt.Sprint(err)
}
