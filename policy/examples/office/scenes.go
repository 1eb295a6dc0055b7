package main

// The scenes, at least one for each policy in policies.go.

import (
	"fmt"
	"slices"
	"strings"
)

var scenes = []scene{
	{
		title:   "Tools: a tool that was hidden from the model, called anyway",
		prompt:  "Tidy up.",
		replies: []reply{asks("delete_file", `{"path":"agenda.txt"}`)},
	}, {
		title:   "Paths: a path that leaves the folder",
		prompt:  "What else is on this machine?",
		replies: []reply{asks("read_file", `{"path":"../audit.jsonl"}`)},
	}, {
		title:   "URLs: a URL that leaves the intranet",
		prompt:  "Look around.",
		replies: []reply{asks("fetch", `{"url":"http://169.254.169.254/latest/meta-data/"}`)},
	}, {
		title:   "URLs: a page that redirects there",
		prompt:  "Look around once more.",
		replies: []reply{asks("fetch", `{"url":"http://127.0.0.1:PORT/moved"}`)},
	}, {
		title:   "Schema: arguments against the schema",
		prompt:  "We are six; book us a room.",
		replies: []reply{asks("book_room", `{"room":"Fjord","seats":"six","window":true}`)},
	}, {
		title:   "Loops: the same call again and again",
		prompt:  "What is on the agenda on Tuesday?",
		replies: slices.Repeat([]reply{asks("read_file", `{"path":"agenda.txt"}`)}, 4),
	}, {
		title:  "Rate: two searches an hour",
		prompt: "Find out about our rivals.",
		replies: []reply{{calls: []request{
			{"search", `{"query":"Acme"}`}, {"search", `{"query":"Globex"}`}, {"search", `{"query":"Initech"}`},
		}}},
	}, {
		title:   "Budget: five tool calls in a run",
		prompt:  "Book all rooms.",
		replies: bookings(6),
	}, {
		title:   "History: more than the model may be sent",
		prompt:  "Read all minutes.",
		replies: readings(5),
		tell:    tellHistory,
	}, {
		title:   "Truncate: a log that is too long",
		prompt:  "Why did the build fail?",
		replies: []reply{asks("read_file", `{"path":"build.log"}`)},
	}, {
		title:   "Redact: a key that is streamed in three pieces",
		prompt:  "Which key did we use for the build?",
		replies: []reply{{say: []string{"It was sk-proj-Zm9v", "YmFyYmF6cXV4MDEyMzQ1", "Njc4OTAx, and works."}}},
		tell:    tellPieces,
	}, {
		title:   "Redact: a mail address that the model has as a token",
		prompt:  "Send bob@example.com the agenda.",
		replies: []reply{asks("send_mail", `{"to":"<EMAIL_1>","subject":"Agenda"}`)},
		tell: func(p *performance) []line {
			return append(tellCall(p), line{"outbox has", p.office.lastMail()})
		},
	}, {
		title:   "Cache: a question that was answered before",
		prompt:  question,
		replies: []reply{{say: []string{"At nine."}}},
		tell:    tellModels,
	}, {
		title:   "Cache: and once more",
		prompt:  question,
		replies: []reply{{say: []string{"At ten."}}}, // which nobody will hear
		tell:    tellModels,
	}, {
		title:   "Retry: a page whose server is busy at first",
		prompt:  "What is for lunch?",
		replies: []reply{asks("fetch", `{"url":"http://127.0.0.1:PORT/menu"}`)},
		tell: func(p *performance) []line {
			return append(tellCall(p), line{"server saw", fmt.Sprintf("%d requests", p.office.web.lunch.Load())})
		},
	}, {
		title:   "Fallback: 503 of one model, and a second one",
		prompt:  "When does the office close?",
		replies: []reply{{say: []string{"At five."}, busyAs: firstModel}},
		tell:    tellModels,
	}, {
		title:   "Timeout: a tool that hangs",
		prompt:  "Print the agenda.",
		replies: []reply{asks("print", `{"path":"agenda.txt"}`)},
	}, {
		title:   "A script: it blocks a command",
		prompt:  "Free some space.",
		replies: []reply{asks("run_shell", `{"command":"rm -r old"}`)},
	}, {
		title:   "Approval: a payment that waits for a decision",
		prompt:  "Pay the rent.",
		replies: []reply{asks("pay", `{"to":"NO93 8601 1117 947","amount":1200}`)},
	},
}

const question = "When does the office open?"

func bookings(n int) []reply {
	var all []reply
	for i := range n {
		all = append(all, asks("book_room", fmt.Sprintf(`{"room":"%d","seats":4}`, i+1)))
	}
	return all
}

func readings(n int) []reply {
	var all []reply
	for i := range n {
		all = append(all, asks("read_file", fmt.Sprintf(`{"path":"minutes%d.txt"}`, i+1)))
	}
	return all
}

// tellHistory tells how much of its history the model was sent.
func tellHistory(p *performance) []line {
	calls := len(p.actor.names)
	var note string
	for _, m := range p.actor.sent {
		if m.Role == "system" {
			note = m.Text()
		}
	}
	return []line{
		{"loop has", fmt.Sprintf("%d messages: the prompt, %d calls and their results", 2*calls-1, calls-1)},
		{"model reads", fmt.Sprintf("%d messages; the first says: %s", len(p.actor.sent), note)},
	}
}

// tellPieces tells in which pieces the model has written, and the person has read.
func tellPieces(p *performance) []line {
	return []line{
		{"model writes", fmt.Sprintf("%q", p.scene.replies[0].say)},
		{"person reads", fmt.Sprintf("%q", p.said)},
	}
}

// tellModels tells which models were asked for what the person reads.
func tellModels(p *performance) []line {
	asked := strings.Join(p.actor.names, ", ")
	if asked == "" {
		asked = "none"
	}
	return []line{
		{"person asks", p.scene.prompt},
		{"person reads", fmt.Sprintf("%s (models asked: %s)", strings.Join(p.said, ""), asked)},
	}
}
