package main

// The tools of the assistant. They do as they are told: what is allowed is none of their
// business, but for the two things that a check in front of them can't hold. They open
// files and fetch pages through what the policies give them.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
)

// tool runs a call on the Input that the hooks left, and sets its Result.
type tool func(ctx context.Context, call *hooks.ToolCall) error

func (o *office) tools() map[string]tool {
	return map[string]tool{
		"read_file":   readFile,
		"delete_file": says("deleted"),
		"fetch":       fetch,
		"search":      search,
		"book_room":   says("booked"),
		"send_mail":   o.sendMail,
		"run_shell":   says("it ran"),
		"print":       printPaper,
		"pay":         pay,
	}
}

// says is a tool of which it is enough to know that it ran: it does nothing.
func says(result string) tool {
	return func(_ context.Context, call *hooks.ToolCall) error {
		call.Result = result
		return nil
	}
}

func readFile(ctx context.Context, call *hooks.ToolCall) error {
	root, ok := policy.RootFrom(ctx)
	if !ok {
		return errors.New("read_file needs a folder")
	}
	name, err := call.StringArg("path")
	if err != nil {
		return err
	}
	text, err := root.ReadFile(name)
	call.Result = string(text)
	return err
}

// fetch marks a busy server as worth another try: reading a page twice does no harm.
func fetch(ctx context.Context, call *hooks.ToolCall) error {
	client, ok := policy.ClientFrom(ctx)
	if !ok {
		return errors.New("fetch needs a client")
	}
	url, err := call.StringArg("url")
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	req.Close = true // no connection is left open behind the program's end
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusServiceUnavailable:
		return policy.Temporary(errors.New(resp.Status), 0)
	default:
		return errors.New(resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	call.Result = string(text)
	return err
}

func search(_ context.Context, call *hooks.ToolCall) error {
	query, err := call.StringArg("query")
	call.Result = "nothing about " + query
	return err
}

func (o *office) sendMail(_ context.Context, call *hooks.ToolCall) error {
	to, err := call.StringArg("to")
	if err != nil {
		return err
	}
	subject, err := call.StringArg("subject")
	if err != nil {
		return err
	}
	o.send(fmt.Sprintf("%q to %s", subject, to))
	call.Result = "sent to " + to
	return nil
}

// printPaper is out of paper, and waits in vain for somebody who fills it in.
func printPaper(ctx context.Context, call *hooks.ToolCall) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(3 * time.Second):
		return errors.New("there is no paper")
	}
}

func pay(_ context.Context, call *hooks.ToolCall) error {
	to, err := call.StringArg("to")
	if err != nil {
		return err
	}
	amount, err := call.NumberArg("amount")
	if err != nil {
		return err
	}
	call.Result = fmt.Sprintf("paid %.0f to %s", amount, to)
	return nil
}
