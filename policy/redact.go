package policy

// Redact: which texts are redacted, and where.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/redact"
)

// Redact replaces secrets and personal data in what a model reads and writes, and
// can put them back into the calls of tools that need them. Package redact does the
// matching.
//
//	policy.Redact{
//		Set:     redact.MustCompile(slices.Concat(redact.Keys(), redact.Mail())...),
//		Secrets: []string{os.Getenv("DB_PASSWORD")},
//		With:    policy.Token,
//		Restore: []string{"send_email"},
//	}.Register()
//
// All of its hooks are fail-closed: a text that can't be redacted isn't used. With
// Token they also fail outside of an execution ([hooks.RunExecution]), which keeps
// what the tokens stand for.
//
// # What is redacted
//
// Prompts are all text of the messages, system messages included, and the
// arguments of the tool calls in them. Answers are the text of a response and of its
// parts, reasoning included, what is streamed of it, and the [hooks.Output] of an
// execution if that is a string. Results are the text of tool results and of their
// parts, of failed and blocked calls too, and what tools stream. Arguments are those of
// the calls that a model asks for, when they are answered, streamed and run. They are
// off by default, since a tool needs what it is called with.
//
// The text of a message, a response or a result is searched part by part and as a
// whole, so that a match which begins in one part and ends in another becomes one mark
// in the first. Arguments are redacted string by string, keys included, and stay
// JSON, written as they were but for what was replaced; a string or a number behind a
// key is also searched together with that, as in {"password":"…"}. A number that is
// replaced becomes a string. Two keys of an object that become equal are numbered:
// [EMAIL], [EMAIL]_2. Arguments that aren't JSON are redacted as text.
//
// Text that is streamed is shown as soon as no match can begin in it, and each run
// of text ([hooks.Chunk]) is searched by itself. Streamed arguments of calls are
// shown when they are complete. The hooks at the post points are [hooks.AfterShown]:
// the stream needn't wait for them.
//
// # What isn't
//
// RawResult, RawResponse, Request and Err stay as they are, for the record, and so
// does what a framework traces by itself. Images, structured outputs and what
// is encoded, spelled out or translated aren't looked at; Secrets are found in the
// encodings that [redact.Literals] names. Nor are the inputs of an execution, and
// what tools are told in any other way than by their arguments, nor the reason of an
// abort at a post point, which the model reads in the place of what was redacted: it is
// redacted where it is sent, as a part of Prompts. The history that a
// loop keeps is redacted each time it is sent, not where it is kept.
type Redact struct {
	// Set is what is looked for, by default redact.MustCompile(redact.Keys()...).
	// The zero Set looks for nothing, for those who want Secrets alone.
	Set *redact.Set

	// Secrets are known values, of at least 8 bytes each without the white space
	// around them, which is dropped. They are looked for before Set, in all forms of
	// [redact.Literals], and their NAME is SECRET. A long one, of more than some
	// hundred bytes, is looked for in pieces, each with a mark.
	Secrets []string

	With  Form  // what takes the place of a match; default Mask
	Where Place // which texts are redacted; default Prompts|Answers|Results

	// Restore are the tools, by name or pattern ([hooks.MatchTool]), that get values
	// back for tokens; nil stands for all, and an empty list for none. It needs Token.
	Restore []string
}

// Form says what takes the place of what [Redact] finds. NAME is the name of the
// pattern.
type Form uint8

const (
	// Mask is [NAME].
	Mask Form = iota

	// Hash is [NAME:9f2c41d0]: the first eight hexadecimal digits of HMAC-SHA256
	// of what was found, under a random key of the process. Equal values have equal
	// marks until the process ends, and nobody can try values without the key.
	Hash

	// Token is <NAME_1>. Tokens are numbered for the outermost execution, which its
	// sub-agents share; equal values have equal tokens. Arguments of the tools of
	// [Redact.Restore] get the value back, if this run has given the token out: one
	// that the model made up stays text. A number that stands in a text already isn't
	// given out. A run that is resumed begins with new tokens: a call that waited comes
	// back with a token that is text now, and people are asked about that. So don't
	// restore values for tools whose calls may wait (Restore). A match as long as the
	// bound of package redact is a Mask, since nobody knows all of it.
	Token
)

// Place says which texts [Redact] looks at. Places are combined with |.
type Place uint8

// The places.
const (
	Prompts   Place = 1 << iota // messages to a model
	Answers                     // what a model writes, and the output of an execution
	Results                     // what tools return
	Arguments                   // of the tool calls that a model asks for
)

const (
	redactName   = "policy.Redact"
	secretName   = "SECRET"
	minSecret    = 8
	everyPlace   = Prompts | Answers | Results | Arguments
	redactLast   = -900 // at the points around a model, at Output, and in front of tools
	redactResult = -800 // before results are cut
)

// Register registers hooks at PreModelCall, PostModelCall, PreToolCall, PostToolCall
// and Output, and filters at both streams, as far as Where and With need them, under
// the name policy.Redact. Their priorities are -900, and -800 at PostToolCall. Two
// registrations have tokens of their own.
//
// It panics, with the index and without the value, for a secret that is too short;
// for an unknown Form or Place; for Restore without Token, or with an
// empty name in it; and for options that don't apply to all of these verbs,
// such as [hooks.WithTools], [hooks.WithTimeout] and [hooks.WithMaxHold].
func (p Redact) Register(opts ...hooks.Option) *hooks.Group {
	r := newRedactor(p)
	return register(opts, func(reg *registrar) {
		pre := reg.with(redactName, redactLast, hooks.WithFailClosed())
		post := reg.with(redactName, redactLast, hooks.WithFailClosed(), hooks.AfterShown())
		if r.looks(Prompts) {
			reg.add(hooks.On(hooks.PreModelCall, r.prompt, pre...))
		}
		if r.looks(Answers|Arguments) || r.with == Token { // which tokens are in use is to be known
			reg.add(hooks.On(hooks.PostModelCall, r.answer, post...))
		}
		if r.looks(Answers | Arguments) {
			redactStream(r, reg, hooks.ModelStream, r.looks(Answers), r.looks(Arguments))
		}
		if r.looks(Arguments) || r.with == Token {
			reg.add(hooks.On(hooks.PreToolCall, r.call, pre...))
		}
		if r.looks(Results) {
			result := reg.with(redactName, redactResult, hooks.WithFailClosed(), hooks.AfterShown())
			reg.add(hooks.On(hooks.PostToolCall, r.result, result...))
			redactStream(r, reg, hooks.ToolStream, true, true)
		}
		if r.looks(Answers) {
			reg.add(hooks.On(hooks.Output, r.output, post...))
		}
	})
}

// redactor is what one registration works with. It isn't changed by use.
type redactor struct {
	sets    []*redact.Set // one after the other: known values first, or a pattern may take a part of one
	with    Form
	where   Place
	restore []string
	tokens  *hooks.RunVar[runTokens]
}

func newRedactor(p Redact) *redactor {
	if p.With > Token {
		panic(fmt.Sprintf("policy: Redact: With is %d; use Mask, Hash or Token", p.With))
	}
	if p.Where&^everyPlace != 0 {
		panic(fmt.Sprintf("policy: Redact: Where is %#b; combine Prompts, Answers, Results and Arguments", p.Where))
	}
	if p.Restore != nil && p.With != Token {
		panic("policy: Redact: Restore without Token: a mark tells nothing that could be put back; set With to Token")
	}
	if slices.Contains(p.Restore, "") {
		panic(`policy: Redact: Restore holds the empty name ""; leave it out`)
	}
	r := &redactor{with: p.With, where: p.Where, restore: slices.Clone(p.Restore), tokens: hooks.NewRunVar[runTokens](nil)}
	if r.where == 0 {
		r.where = Prompts | Answers | Results
	}
	if secrets := compileSecrets(p.Secrets); secrets != nil {
		r.sets = append(r.sets, secrets)
	}
	if p.Set == nil {
		p.Set = redact.MustCompile(redact.Keys()...)
	}
	r.sets = append(r.sets, p.Set)
	return r
}

// compileSecrets returns a set of the known values, nil for none.
func compileSecrets(secrets []string) *redact.Set {
	if len(secrets) == 0 {
		return nil
	}
	var values []string
	for i, secret := range secrets {
		secret = strings.TrimSpace(secret) // a file ends with a line, a password doesn't
		if secret == "" {
			panic(fmt.Sprintf("policy: Redact: Secrets[%d] is empty; is the variable set that it comes from?", i))
		}
		if len(secret) < minSecret {
			panic(fmt.Sprintf("policy: Redact: Secrets[%d] has %d bytes; one of fewer than %d would be found in texts that have nothing to do with it", i, len(secret), minSecret))
		}
		values = append(values, secretPieces(secret)...)
	}
	return redact.MustCompile(redact.Literals(secretName, values...)...)
}

// secretPieces returns a value in as many pieces as it takes to look for each in all of
// its forms.
func secretPieces(value string) []string {
	if _, err := redact.Compile(redact.Literals(secretName, value)...); err == nil {
		return []string{value}
	}
	half := len(value) / 2
	for back := 0; back < utf8.UTFMax && !utf8.RuneStart(value[half]); back++ {
		half--
	}
	return append(secretPieces(value[:half]), secretPieces(value[half:])...)
}

func (r *redactor) looks(at Place) bool { return r.where&at != 0 }

var errRedactRun = errors.New("policy: Redact needs hooks.RunExecution around the call")

// cleaner returns what redacts texts of the run that ctx is in.
func (r *redactor) cleaner(ctx context.Context) (*cleaner, error) {
	c := &cleaner{sets: r.sets}
	switch r.with {
	case Mask:
		c.mark = maskMark
	case Hash:
		c.mark = hashMark
	case Token:
		t, ok := r.tokens.Root(ctx)
		if !ok {
			return nil, errRedactRun
		}
		c.mark, c.known = t.give, t
	}
	return c, nil
}
