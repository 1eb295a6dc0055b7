package desk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
)

// exampleQuestion is what ToolCall.Ask would put for a call of pay.
func exampleQuestion() *hooks.Question {
	q := &hooks.Question{
		ID: "b1946ac92492d2347c6235b4d2611184", RootRunID: "run-1", CallID: "call-1", Tool: "pay",
		Arguments: `{"amount":90,"to":"ACME"}`, Prompt: "Pay this bill?",
	}
	q.Rebind()
	return q
}

// A question waits until somebody decides, and an approval is used once.
func Example() {
	ctx := context.Background()
	d := desk.New(desk.Memory(), desk.WithNotify(func(_ context.Context, rec desk.Record) {
		fmt.Println("asked:", rec.Question.Prompt, rec.Question.Arguments)
	}))

	_, decided, _ := d.Ask(ctx, exampleQuestion()) // by ToolCall.Ask
	fmt.Println("decided:", decided)

	for rec, err := range d.List(ctx, desk.Query{States: []desk.State{desk.Open}}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		err = d.Decide(ctx, rec.Question.ID, hooks.Decision{
			Verdict: hooks.Approve, Digest: rec.Question.Digest, By: "ana",
		})
		fmt.Println("approved:", err == nil)
	}

	dec, decided, _ := d.Ask(ctx, exampleQuestion()) // when the run goes on
	fmt.Println("decided:", decided, dec.Verdict, "by", dec.By)
	// Output:
	// asked: Pay this bill? {"amount":90,"to":"ACME"}
	// decided: false
	// approved: true
	// decided: true approve by ana
}

// Only those for whom a question is decide it.
func ExampleWithAuthorizer() {
	members := map[string]string{"ana": "finance", "rui": "support"}
	d := desk.New(desk.Memory(), desk.WithAuthorizer(func(_ context.Context, rec desk.Record, by string) error {
		if slices.Contains(rec.Question.Audience, members[by]) {
			return nil
		}
		return fmt.Errorf("%s isn't in %s", by, strings.Join(rec.Question.Audience, ", "))
	}))
	ctx := context.Background()
	q := exampleQuestion()
	q.Audience = []string{"finance"}
	_, _, _ = d.Ask(ctx, q)

	for _, by := range []string{"rui", "ana"} {
		err := d.Decide(ctx, q.ID, hooks.Decision{Verdict: hooks.Approve, Digest: q.Digest, By: by})
		fmt.Println(by, errors.Is(err, desk.ErrNotAllowed))
	}
	// Output:
	// rui true
	// ana false
}

// A ticket carries question and digest through a link, and nobody can make one
// without the key.
func ExampleDesk_Ticket() {
	key := []byte("32 random bytes, from a secret s")
	d := desk.New(desk.Memory())
	q := exampleQuestion()
	_, _, _ = d.Ask(context.Background(), q)
	rec, _ := d.Get(context.Background(), q.ID)

	link := "https://desk.example.com/decide?t=" + d.Ticket(rec, key)
	_, text, _ := strings.Cut(link, "?t=")
	id, digest, err := desk.OpenTicket(text, key)
	fmt.Println(id == q.ID, digest == q.Digest, err)

	_, _, err = desk.OpenTicket(strings.Replace(text, "A", "B", 1), key)
	fmt.Println(err)
	// Output:
	// true true <nil>
	// desk: OpenTicket: this is no ticket of this key
}

// Questions in a folder outlive the process.
func ExampleFile() {
	dir, err := os.MkdirTemp("", "questions")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	q := exampleQuestion()
	store, _ := desk.File(dir)
	_, _, _ = desk.New(store).Ask(context.Background(), q)

	later, _ := desk.File(dir) // as another process does
	rec, err := desk.New(later).Get(context.Background(), q.ID)
	fmt.Println(rec.State, rec.Question.Arguments, err)
	// Output: open {"amount":90,"to":"ACME"} <nil>
}

// The person at the terminal decides at once.
func ExampleHuman() {
	terminal := hooks.NewConsole(strings.NewReader("sim\n"), os.Stdout)
	ctx := hooks.WithHumanInput(context.Background(), terminal)
	dec, decided, err := desk.Human().Ask(ctx, exampleQuestion())
	fmt.Println("sim")
	fmt.Println(dec.Verdict, decided, err)
	// Output:
	// Pay this bill?
	// tool: "pay"
	// arguments: {
	//   "amount": 90,
	//   "to": "ACME"
	// }
	// Type "yes" to allow it: sim
	// approve true <nil>
}
