package main

// How a scene is played, and what is printed of it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/loophooks/hooks"
)

// scene is a task for the assistant, and what the actor makes of it.
type scene struct {
	title   string
	prompt  string
	replies []reply
	tell    func(*performance) []line // what is printed; nil for tellCall
}

// line is who does something, and what.
type line struct{ who, what string }

// performance is a scene that is played in an office. Each is a run of its own, with its
// own budget; what outlives runs is the office's.
type performance struct {
	office *office
	scene  scene
	decide decider

	actor   *actor
	said    []string // to the person, in the pieces in which it came
	decided []line   // about calls that waited
	stopped string   // why the run has ended without an answer, if it has
}

// play runs the task, and decides what it waits for until it has ended.
func (p *performance) play(ctx context.Context) error {
	p.actor = &actor{replies: p.scene.replies, port: fmt.Sprint(p.office.web.addr.Port())}
	_, err := p.loop().run(ctx, p.scene.prompt)
	for range maxWaits {
		if !waits(err) {
			break
		}
		if err = p.decideAll(ctx, err); err == nil {
			err = p.resume(ctx)
		}
	}
	if refusal, ok := errors.AsType[*hooks.HookAborted](err); ok && ctx.Err() == nil {
		p.stopped, err = refusal.PublicText(), nil // a script of -policy may do that
	}
	if waits(err) && ctx.Err() == nil {
		p.stopped, err = fmt.Sprintf("it still waits after %d times", maxWaits), nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.scene.title, err)
	}
	return nil
}

// maxWaits is how often one run may have to wait. A script of -policy that writes other
// arguments each time has each of them asked about.
const maxWaits = 10

func (p *performance) loop() *loop {
	return &loop{
		model:    p.actor.play,
		tools:    p.office.tools(),
		maxTurns: 10,
		show:     func(text string) { p.said = append(p.said, text) },
		save: func(s state) error {
			kept, err := json.Marshal(s)
			if err != nil {
				return err
			}
			return os.WriteFile(p.office.path("run.json"), kept, 0o600)
		},
	}
}

// resume goes on with the run that was saved, in a new loop, as another process would.
func (p *performance) resume(ctx context.Context) error {
	kept, err := os.ReadFile(p.office.path("run.json"))
	if err != nil {
		return err
	}
	var s state
	if err := json.Unmarshal(kept, &s); err != nil {
		return err
	}
	_, err = p.loop().resume(ctx, s)
	return err
}

// print writes the title and the lines of the scene.
func (p *performance) print(w io.Writer) error {
	tell := p.scene.tell
	if tell == nil {
		tell = tellCall
	}
	lines := tell(p)
	if p.stopped != "" {
		lines = append(lines, line{"run ends", p.stopped})
	}
	var b strings.Builder
	fmt.Fprintln(&b, p.scene.title)
	for _, l := range lines {
		what := strings.ReplaceAll(l.what, "127.0.0.1:"+p.actor.port, "127.0.0.1:PORT")
		fmt.Fprintf(&b, "  %-14s%s\n", l.who, strings.ReplaceAll(what, "\n", " | "))
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}

// tellCall tells the last tool call, and what the model was sent as its result.
func tellCall(p *performance) []line {
	var asked string
	times := 0
	for _, r := range p.scene.replies {
		for _, c := range r.calls {
			asked = c.tool + " " + c.arguments
			times++
		}
	}
	if times > 1 {
		asked += fmt.Sprintf(" (call %d)", times)
	}
	lines := append([]line{{"model asks", asked}}, p.decided...)
	if sent := p.actor.sent; len(sent) > 0 && sent[len(sent)-1].Role == "tool" {
		lines = append(lines, line{"model reads", sent[len(sent)-1].Text()})
	}
	return lines
}
