package policy

// The records of Audit, and how they are made of a call.

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/loophooks/hooks"
)

// The kinds of records.
const (
	kindIntent    = "intent"
	kindOutcome   = "outcome"
	kindRecovered = "recovered" // what stood behind the last whole line was moved away
	kindLost      = "lost"      // outcomes couldn't be kept until they could be written
)

// auditRecord is one line of the log, without the mac behind it.
type auditRecord struct {
	Seq    int64     `json:"seq"`
	Time   time.Time `json:"time"`
	Kind   string    `json:"kind"`
	Point  string    `json:"point,omitempty"`
	Run    string    `json:"run,omitempty"`
	Root   string    `json:"root,omitempty"`
	Tenant string    `json:"tenant,omitempty"`
	Role   string    `json:"role,omitempty"`
	Call   string    `json:"call,omitempty"`
	Tool   string    `json:"tool,omitempty"`
	Model  string    `json:"model,omitempty"`
	Input  string    `json:"input,omitempty"`
	Result string    `json:"result,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Source string    `json:"source,omitempty"`
	Error  string    `json:"error,omitempty"`
	Prev   string    `json:"prev"`
}

func ofCaller(kind string, p hooks.AnyPoint, c *hooks.Caller) auditRecord {
	return auditRecord{
		Time: time.Now().UTC(), Kind: kind, Point: string(p.Name()),
		Run: c.RunID, Root: c.RootRunID, Tenant: c.Tenant, Role: c.AgentRole,
	}
}

// ofTool returns a record of a tool call, without its input if JSON can't hold that.
func (a *auditor) ofTool(kind string, p hooks.AnyPoint, t *hooks.ToolCall) (auditRecord, error) {
	rec := ofCaller(kind, p, &t.Caller)
	rec.Call, rec.Tool = t.ID, t.Name
	arguments, err := argumentsOf(t)
	if err == nil {
		rec.Input = a.payload(arguments)
	}
	return rec, err
}

// argumentsOf is argumentsText, where a panic of a value that encodes itself is an error:
// an outcome is written in any case.
func argumentsOf(t *hooks.ToolCall) (text string, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("policy: Audit: a panic of type %T while arguments were encoded", value)
		}
	}()
	return argumentsText(t)
}

func (a *auditor) ofModel(kind string, p hooks.AnyPoint, m *hooks.ModelCall) auditRecord {
	rec := ofCaller(kind, p, &m.Caller)
	rec.Model = m.Model
	rec.Input = a.encoded(questionOf(m))
	return rec
}

// encoded returns the payload v as JSON, "" if that can't hold it.
func (a *auditor) encoded(v any) string {
	text, err := encodeLine(v)
	if err != nil {
		return ""
	}
	return a.payload(text)
}

// encodeLine returns v as one line of JSON. A panic of what encodes itself is an error.
func encodeLine(v any) (text string, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("policy: Audit: a panic of type %T while a payload was encoded", value)
		}
	}()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// What of a model call is recorded: what goes over the wire, as far as it is portable.
type (
	auditQuestion struct {
		Messages []auditMessage `json:"messages"`
		Tools    []string       `json:"tools,omitempty"`
	}
	auditMessage struct {
		Role  string      `json:"role,omitempty"`
		Name  string      `json:"name,omitempty"`
		Call  string      `json:"call,omitempty"`
		Text  string      `json:"text,omitempty"`
		Parts []auditPart `json:"parts,omitempty"`
		Calls []auditCall `json:"calls,omitempty"`
	}
	auditAnswer struct {
		Text  string      `json:"text,omitempty"`
		Parts []auditPart `json:"parts,omitempty"`
		Calls []auditCall `json:"calls,omitempty"`
	}
	auditPart struct {
		Kind string `json:"kind,omitempty"`
		Text string `json:"text,omitempty"`
	}
	auditCall struct {
		ID        string `json:"id,omitempty"`
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments,omitempty"`
	}
)

func questionOf(m *hooks.ModelCall) auditQuestion {
	q := auditQuestion{Messages: []auditMessage{}, Tools: m.Tools}
	for _, msg := range m.Messages {
		q.Messages = append(q.Messages, auditMessage{msg.Role, msg.Name, msg.ToolCallID, msg.Content, partsOf(msg.Parts), callsOf(msg.ToolCalls)})
	}
	return q
}

func answerOf(m *hooks.ModelCall) auditAnswer {
	return auditAnswer{m.Response, partsOf(m.Parts), callsOf(m.ToolCalls)}
}

func partsOf(parts []hooks.Part) (list []auditPart) {
	for _, p := range parts {
		list = append(list, auditPart{p.Kind, p.Text})
	}
	return list
}

func callsOf(requests []hooks.ToolRequest) (list []auditCall) {
	for _, r := range requests {
		list = append(list, auditCall{r.ID, r.Name, r.Arguments})
	}
	return list
}

// errorType names the type of an error. Of one that fmt.Errorf wrapped it is the
// type inside, which says more, and of an abort that of its cause, if it has one: the
// rest of it has fields of its own.
func errorType(err error) string {
	for {
		if abort, ok := err.(*hooks.HookAborted); ok { //nolint:errorlint // this is the walk
			if abort.Err == nil {
				return ""
			}
			err = abort.Err
			continue
		}
		name := fmt.Sprintf("%T", err)
		inner := errors.Unwrap(err)
		if name != "*fmt.wrapError" || inner == nil {
			return name
		}
		err = inner
	}
}
