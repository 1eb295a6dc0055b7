package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks"
)

func TestRun_firstClassRefused(t *testing.T) {
	t.Parallel()
	e := scripted(t)
	got := travel(t.Context(), t, "", e.at("-prompt", "I am DNI 30123456. Book me the most comfortable seat to Mar del Plata on Friday.")...)
	require.Equal(t, exitOK, got.status, got.errOut)
	assert.Empty(t, got.errOut)

	require.Len(t, e.bodies, 4)
	for _, body := range e.bodies {
		assert.NotContains(t, body, "30.123.456")
		assert.NotContains(t, body, "30123456")
		assert.Contains(t, body, "DNI ***")
		assert.Equal(t, 1, strings.Count(body, "Today is "))
	}
	assert.NotContains(t, strings.Join(e.bodies, ""), `seat_class\":\"first\",\"fare`, "no booking of first class")
	assert.Contains(t, e.bodies[2], "Error: Tool execution blocked by hook. Tool: book_ticket. Reason: any class but tourist needs a manager's approval; book tourist instead")
	assert.Contains(t, e.bodies[3], `seat_class\":\"tourist\",\"fare`)
	_, answer, _ := strings.Cut(got.out, "\nAnswer\n")
	assert.Contains(t, answer, "Booked: a tourist class seat")
	assert.Contains(t, answer, "The first class seat was refused: any class but tourist needs a manager's approval")
}

func TestOffice_oneTouristBooking(t *testing.T) {
	t.Parallel()
	o := new(office)
	s, err := parseFlags(nil, noEnv, io.Discard)
	require.NoError(t, err)
	require.NoError(t, assist(t.Context(), s, o, io.Discard))
	require.Len(t, o.Bookings(), 1)
	assert.Equal(t, "tourist", o.Bookings()[0].Class)
}

func TestRun_wholeStory(t *testing.T) {
	t.Parallel()
	want := `Request: Book me the most comfortable seat to Mar del Plata on Friday.
Model:   scripted, on the embedded server

Turn 1
  hook    "add today's date" rewrote the messages to the model
  call    find_trains {"date":"Friday","to":"Mar del Plata"}
  call    traveller_profile {}
  hook    "hide document numbers" rewrote the result of traveller_profile
  result  find_trains: {"to":"Mar del Plata","date":"Friday","trains":[{"train":303,"departs":"08:05","arrives":"13:20","first":41900,"tourist":24500},{"train":307,"departs":"15:30","arrives":"21:10","first":38900,"tourist":22900}]}
  result  traveller_profile: {"name":"Lucía Ferrari","document":"DNI ***","prefers":"window"}

Turn 2
  hook    "add today's date" rewrote the messages to the model
  model   I'll book the most comfortable seat.
  call    book_ticket {"seat_class":"first","train":303}
  hook    "no first class" refused the call of book_ticket: any class but tourist needs a manager's approval; book tourist instead
  error   book_ticket: Tool execution blocked by hook. Tool: book_ticket. Reason: any class but tourist needs a manager's approval; book tourist instead

Turn 3
  hook    "add today's date" rewrote the messages to the model
  model   First class was refused, so I'll book tourist class.
  call    book_ticket {"seat_class":"tourist","train":303}
  hook    "hide document numbers" rewrote the result of book_ticket
  result  book_ticket: {"reference":"R001-t","train":303,"seat_class":"tourist","fare":24500,"passenger":{"name":"Lucía Ferrari","document":"DNI ***"}}

Turn 4
  hook    "add today's date" rewrote the messages to the model

Answer
  Booked: a tourist class seat to Mar del Plata on Friday, train 303 at 08:05, for Lucía Ferrari. The reference is R001-t. The first class seat was refused: any class but tourist needs a manager's approval; book tourist instead.

4 turns, 4 tool calls, 1 blocked, 6 rewritten, TIME
`
	for range 5 {
		got := travel(t.Context(), t, "")
		require.Equal(t, exitOK, got.status, got.errOut)
		assert.Empty(t, got.errOut)
		assert.Equal(t, want, regexp.MustCompile(`, [\d.]+m?s\n$`).ReplaceAllString(got.out, ", TIME\n"))
	}
}

func TestRun_managerApproves(t *testing.T) {
	t.Parallel()
	got := travel(t.Context(), t, "", "-manager-approved")
	require.Equal(t, exitOK, got.status)
	assert.Contains(t, got.out, "Booked: a first class seat")
	assert.Contains(t, got.out, ", 0 blocked,")
}

func TestRun_asksBeforeBooking(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ stdin, answer string }{
		"yes":           {"yes\n", "Booked: a tourist class seat"},
		"no":            {"no\n", "The tourist class seat was refused: the traveller didn't approve this booking"},
		"an empty line": {"\n", "The tourist class seat was refused: the traveller didn't approve this booking"},
		"closed stdin":  {"", "The tourist class seat was refused: nobody could be asked to approve this booking"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := travel(t.Context(), t, tt.stdin, "-approve")
			require.Equal(t, exitOK, got.status)
			assert.Contains(t, got.out, tt.answer)
			assert.Equal(t, 1, strings.Count(got.errOut, "Book it? [y/N]"), "what is refused anyway isn't asked about")
			assert.Contains(t, got.errOut, `book_ticket {"seat_class":"tourist","train":303}`)
		})
	}
}

func TestTrace_oneLineEach(t *testing.T) {
	t.Parallel()
	got := travel(t.Context(), t, "", "-trace")
	require.Equal(t, exitOK, got.status)
	count := map[string]int{}
	for line := range strings.Lines(got.out) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "trace" {
			count[fields[1]]++
		}
	}
	assert.Equal(t, map[string]int{
		"execution_start": 1, "input": 1, "pre_step": 4, "pre_model_call": 4, "post_model_call": 4, "pre_tool_call": 4, "post_tool_call": 4, "output": 1,
	}, count)
	assert.Regexp(t, `trace   pre_tool_call book_ticket aborted in [^ ]+: "no first class" aborted: any class but tourist [^\n]+\n`, got.out)
}

func TestRun_documentInAnswer(t *testing.T) {
	t.Parallel()
	got := travel(t.Context(), t, "", saying(t, says("You are DNI 30.123.456, aren't you?")).at()...)
	require.Equal(t, exitOK, got.status)
	assert.Contains(t, got.out, "You are DNI ***, aren't you?")
}

func TestRun_documentInArguments(t *testing.T) {
	t.Parallel()
	e := saying(t, asks("find_trains", `{"to":"DNI 30.123.456","date":"\u0044NI 30.123.456"}`), says("No."))
	got := travel(t.Context(), t, "", e.at()...)
	require.Equal(t, exitOK, got.status)
	assert.Contains(t, got.out, `"to":"DNI ***"`)
	assert.NotContains(t, e.bodies[1], "30.123.456")
}

func TestRun_failuresSayWhy(t *testing.T) {
	t.Parallel()
	down, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, down.Close())
	status := func(status int, body string) *endpoint {
		return serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
	tests := map[string]struct {
		e    *endpoint
		args []string
		want string
	}{
		"endpoint down":    {&endpoint{url: "http://" + down.Addr().String() + "/v1"}, nil, "can't be reached: "},
		"401":              {status(401, `{"error":{"message":"Incorrect API key provided: sk-secret"}}`), nil, "401 Unauthorized (check the API key): Incorrect API key provided: [API key]"},
		"429":              {status(429, `slow down`), nil, "429 Too Many Requests (too many requests or no quota left: retry later): slow down"},
		"500":              {status(500, strings.Repeat("oops ", 1e5)), nil, "500 Internal Server Error: oops oops"},
		"malformed JSON":   {saying(t, `{"choices":[{`), nil, "isn't a chat completion (it isn't JSON)"},
		"no choices":       {saying(t, `{}`), nil, "sent a reply without choices"},
		"reply too large":  {saying(t, strings.Repeat(" ", 5<<20)), nil, "more than 4194304 bytes"},
		"a silent model":   {serve(t, func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), []string{"-timeout", "30ms"}, "no complete reply within 30ms"},
		"it never ends":    {saying(t, asks("traveller_profile", "{}")), []string{"-max-turns", "3"}, "no answer after 3 turns"},
		"budget used up":   {saying(t, asks("traveller_profile", "{}")), []string{"-turn-budget", "2"}, `stopped by "turn budget": the budget of 2 turns is used up`},
		"fails in between": {saying(t, asks("traveller_profile", "{}"), `oops`), nil, "isn't a chat completion"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := travel(t.Context(), t, "", tt.e.at(append(tt.args, "-api-key", "sk-secret")...)...)
			assert.Equal(t, exitFailed, got.status)
			assert.Contains(t, got.errOut, tt.want)
			assert.Equal(t, 1, strings.Count(got.errOut, "\n"), "one line: %q", got.errOut)
			assert.Less(t, len(got.errOut), 500)
			assert.NotContains(t, got.out, "Answer")
			assert.NotContains(t, got.out+got.errOut, "sk-secret")
		})
	}
}

func TestRun_modelReadsItsMistakes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ name, args, want string }{
		"an unknown tool":         {"rent_car", `{}`, `Error: there is no tool \"rent_car\"; the tools are: find_trains, traveller_profile, book_ticket`},
		"arguments aren't JSON":   {"find_trains", `to=Rosario`, `Error: Tool was not run: arguments must be one JSON object: syntax error at byte 1`},
		"no train goes there":     {"find_trains", `{"to":"Oz","date":"Friday"}`, `Error: no trains go to Oz`},
		"arguments are missing":   {"find_trains", `{}`, `Error: to and date are needed`},
		"no such train":           {"book_ticket", `{"train":303.5,"seat_class":"tourist"}`, `Error: train must be the number of a train`},
		"guarded, and not JSON":   {"book_ticket", `{"seat_class":`, `Error: Tool execution blocked by hook. Tool: book_ticket. Reason: seat_class is missing`},
		"first class, also twice": {"book_ticket", `{"train":303,"seat_class":"tourist","seat_class":"first"}`, `Error: Tool execution blocked by hook.`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := saying(t, asks(tt.name, tt.args), says("I can't."))
			got := travel(t.Context(), t, "", e.at()...)
			require.Equal(t, exitOK, got.status, got.errOut)
			require.Len(t, e.bodies, 2)
			assert.Contains(t, e.bodies[1], tt.want)
			assert.Contains(t, got.out, "\nAnswer\n  I can't.\n")
		})
	}
}

func TestRun_cancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := travel(ctx, t, "")
	assert.Equal(t, exitInterrupted, got.status)
	assert.Equal(t, "travel: interrupted\n", got.errOut)

	for name, args := range map[string][]string{"in a model call": nil, "while a person is asked": {"-approve"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			e := serve(t, func(_ int, _ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
			if args != nil {
				e = saying(t, asks("book_ticket", `{"train":303,"seat_class":"tourist"}`))
			}
			var out bytes.Buffer
			errOut := &terminal{typed: func(text string) {
				if strings.Contains(text, "Book it?") {
					cancel()
				}
			}}
			silent, pipe := io.Pipe() // nobody types
			defer pipe.Close()
			status := run(ctx, e.at(args...), silent, &out, errOut, noEnv)
			assert.Equal(t, exitInterrupted, status)
			assert.Contains(t, errOut.String(), "travel: interrupted\n")
			assert.Len(t, e.bodies, 1)
		})
	}
}

func TestFlags_andEnvironment(t *testing.T) {
	t.Parallel()
	e := scripted(t)
	env := map[string]string{"OPENAI_BASE_URL": e.url, "OPENAI_MODEL": "from-env", "OPENAI_API_KEY": "sk-env"}
	getenv := func(k string) string { return env[k] }
	var out, errOut bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), nil, strings.NewReader(""), &out, &errOut, getenv), errOut.String())
	assert.Contains(t, e.bodies[0], `"model":"from-env"`)
	assert.Equal(t, "Bearer sk-env", e.keys[0])
	assert.Contains(t, out.String(), "Model:   from-env\n")
	assert.NotContains(t, out.String(), "sk-env")

	require.Equal(t, exitOK, run(t.Context(), []string{"-model", "flag", "-api-key", "sk-flag"}, strings.NewReader(""), &out, &errOut, getenv))
	last := len(e.bodies) - 1
	assert.Contains(t, e.bodies[last], `"model":"flag"`)
	assert.Equal(t, "Bearer sk-flag", e.keys[last])

	errOut.Reset()
	require.Equal(t, exitOK, run(t.Context(), []string{"-h"}, strings.NewReader(""), &out, &errOut, getenv))
	assert.Contains(t, errOut.String(), "Usage: travel [flags]")
	assert.NotContains(t, errOut.String(), "sk-env", "the help doesn't show the key")
}

func TestRun_leavesNothingBehind(t *testing.T) {
	t.Parallel()
	require.Equal(t, exitOK, travel(t.Context(), t, "yes\n", "-approve").status)
	for _, p := range []hooks.AnyPoint{hooks.PreStep, hooks.PreModelCall, hooks.PostModelCall, hooks.PreToolCall, hooks.PostToolCall, hooks.Output} {
		assert.Empty(t, hooks.Hooks(p), p.Name())
	}
}
