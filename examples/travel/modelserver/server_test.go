package modelserver_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks/examples/travel/modelserver"
)

const (
	allTools = `[{"type":"function","function":{"name":"find_trains","parameters":{"type":"object"}}},
		{"type":"function","function":{"name":"traveller_profile"}},{"type":"function","function":{"name":"book_ticket"}}]`
	user = `{"role":"user","content":"Book me a seat to San Luis on Monday."}`

	askTrains = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"find_trains","arguments":"{}"}}]}`
	trains    = `{"role":"tool","tool_call_id":"a","content":"{\"trains\":[{\"train\":7,\"departs\":\"09:00\"}]}"}`

	askFirst   = `{"role":"assistant","content":"","tool_calls":[{"id":"b","type":"function","function":{"name":"book_ticket","arguments":"{\"seat_class\":\"first\"}"}}]}`
	refused    = `{"role":"tool","tool_call_id":"b","content":"Error: no. Reason: ask the manager."}`
	firstDone  = `{"role":"tool","tool_call_id":"b","content":"{\"reference\":\"F1\",\"passenger\":{\"name\":\"Ana\"}}"}`
	askTourist = `{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"book_ticket","arguments":"{\"seat_class\":\"tourist\"}"}}]}`
	done       = `{"role":"tool","tool_call_id":"c","content":"{\"reference\":\"T1\",\"passenger\":{\"name\":\"Ana\"}}"}`
	soldOut    = `{"role":"tool","tool_call_id":"c","content":"Error: sold out"}`
)

func body(tools string, messages ...string) string {
	return `{"model":"m","tools":` + tools + `,"messages":[` + strings.Join(messages, ",") + `]}`
}

func post(t *testing.T, body string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	modelserver.Handler().ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body)))
	assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
	return w.Code, w.Body.String()
}

// says returns the text, the calls as "name arguments", and the finish reason.
func says(t *testing.T, body string) (text string, calls []string, finish string) {
	t.Helper()
	status, raw := post(t, body)
	require.Equal(t, 200, status, raw)
	var r struct {
		Choices []struct {
			Message struct {
				Content   string
				ToolCalls []struct {
					ID, Type string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			Finish string `json:"finish_reason"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(raw), &r))
	require.Len(t, r.Choices, 1)
	seen := map[string]bool{}
	for _, c := range r.Choices[0].Message.ToolCalls {
		assert.Equal(t, "function", c.Type)
		assert.False(t, seen[c.ID] || c.ID == "", "id %q", c.ID)
		seen[c.ID] = true
		calls = append(calls, c.Function.Name+" "+c.Function.Arguments)
	}
	return r.Choices[0].Message.Content, calls, r.Choices[0].Finish
}

func TestScript_asksForTools(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body string
		want []string
	}{
		"nothing known": {body(allTools, user), []string{`find_trains {"date":"Monday","to":"San Luis"}`, `traveller_profile {}`}},
		"no destination said": {body(allTools, `{"role":"user","content":"Anywhere!"}`),
			[]string{`find_trains {"date":"Friday","to":"Mar del Plata"}`, `traveller_profile {}`}},
		"profile hidden":       {body(`[{"type":"function","function":{"name":"find_trains"}}]`, user), []string{`find_trains {"date":"Monday","to":"San Luis"}`}},
		"trains known":         {body(allTools, user, askTrains, trains), []string{`book_ticket {"seat_class":"first","train":7}`}},
		"first class refused":  {body(allTools, user, askTrains, trains, askFirst, refused), []string{`book_ticket {"seat_class":"tourist","train":7}`}},
		"the user speaks anew": {body(allTools, user, askTrains, trains, user), []string{`find_trains {"date":"Monday","to":"San Luis"}`, `traveller_profile {}`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, calls, finish := says(t, tt.body)
			assert.Equal(t, tt.want, calls)
			assert.Equal(t, "tool_calls", finish)
		})
	}
}

func TestScript_answersFromHistory(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ body, want string }{
		"tourist booked": {body(allTools, user, askTrains, trains, askFirst, refused, askTourist, done),
			"Booked: a tourist class seat to San Luis on Monday, train 7 at 09:00, for Ana. The reference is T1. The first class seat was refused: ask the manager."},
		"first booked": {body(allTools, user, askTrains, trains, askFirst, firstDone),
			"Booked: a first class seat to San Luis on Monday, train 7 at 09:00, for Ana. The reference is F1."},
		"both refused": {body(allTools, user, askTrains, trains, askFirst, refused, askTourist, soldOut),
			"I booked nothing. The first class seat was refused: ask the manager. The tourist class seat was refused: sold out."},
		"told to book nothing": {body(allTools, user, askTrains, trains, askFirst, `{"role":"tool","tool_call_id":"b","content":"book nothing"}`),
			"I booked nothing. The first class seat was refused: book nothing."},
		"no trains": {body(allTools, user, askTrains, `{"role":"tool","tool_call_id":"a","content":"Error: none"}`),
			"I found no train to San Luis on Monday: Error: none"},
		"no tools":       {body(`[]`, user), "I can't look for trains: there is no tool for it."},
		"booking hidden": {body(`[]`, user, askTrains, trains), "Train 7 leaves for San Luis at 09:00, but I can't book: there is no tool for it."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, calls, finish := says(t, tt.body)
			assert.Equal(t, tt.want, text)
			assert.Empty(t, calls)
			assert.Equal(t, "stop", finish)
		})
	}
}

func TestServer_badRequests(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ body, want string }{
		"no JSON":            {`{`, "isn't a chat-completions request"},
		"trailing data":      {body(allTools, user) + "x", "isn't a chat-completions request"},
		"wrong type":         {`{"model":"m","messages":"hi"}`, "isn't a chat-completions request"},
		"no model":           {`{"messages":[` + user + `]}`, "model is missing"},
		"no messages":        {body(allTools), "messages is empty"},
		"stream no boolean":  {`{"model":"m","stream":"yes","messages":[` + user + `]}`, "isn't a chat-completions request"},
		"stream in vain":     {`{"model":"m","stream_options":{"include_usage":true},"messages":[` + user + `]}`, "stream_options needs stream"},
		"stream of a hole":   {streamed(body(allTools, user, askTrains)), "1 tool calls have no result"},
		"tool without type":  {body(`[{"function":{"name":"f"}}]`, user), "tools[0].type"},
		"tool without name":  {body(`[{"type":"function","function":{}}]`, user), "tools[0].function.name"},
		"parameters no JSON": {body(`[{"type":"function","function":{"name":"f","parameters":[1]}}]`, user), "must be an object"},
		"unknown role":       {body(allTools, `{"role":"wizard","content":"x"}`), "wizard"},
		"user says nothing":  {body(allTools, `{"role":"user"}`), "messages[0].content"},
		"empty assistant":    {body(allTools, user, `{"role":"assistant"}`), "neither content nor tool_calls"},
		"call without id":    {body(allTools, user, strings.Replace(askTrains, `"a"`, `""`, 1)), "an id of its own"},
		"hole in history":    {body(allTools, user, askTrains, user), "1 tool calls before it have no result"},
		"no result at all":   {body(allTools, user, askTrains), "1 tool calls have no result"},
		"result of nothing":  {body(allTools, user, trains), "answers no tool call"},
		"result twice":       {body(allTools, user, askTrains, trains, trains), "answers no tool call"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, got := post(t, tt.body)
			assert.Equal(t, http.StatusBadRequest, status)
			var refusal struct {
				Error struct{ Message, Type string }
			}
			require.NoError(t, json.Unmarshal([]byte(got), &refusal))
			assert.Contains(t, refusal.Error.Message, tt.want)
			assert.Equal(t, "invalid_request_error", refusal.Error.Type)
		})
	}
	status, _ := post(t, strings.Repeat(" ", 1<<20)+body(allTools, user))
	assert.Equal(t, http.StatusRequestEntityTooLarge, status)
}

func TestServer_loopbackUntilClosed(t *testing.T) {
	t.Parallel()
	s, err := modelserver.Start()
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(s.URL(), "http://127.0.0.1:"), s.URL())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Post(s.URL()+"/chat/completions", "application/json", strings.NewReader(body(allTools, user)))
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, 200, resp.StatusCode)

	resp, err = client.Get(s.URL() + "/chat/completions")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)

	require.NoError(t, s.Close())
	_, err = client.Get(s.URL())
	require.Error(t, err)
}
