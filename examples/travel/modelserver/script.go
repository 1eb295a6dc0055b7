// The script: what the model knows is what stands in the conversation, and what
// it says follows from that alone.

package modelserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// reply is what the model says: text, calls, or both.
type reply struct {
	text  string
	calls []call
}

type call struct {
	name string
	args map[string]any
}

// train and booking are what the tools are known to return.
type train struct {
	Train   int    `json:"train"`
	Departs string `json:"departs"`
}

type booking struct {
	Reference string `json:"reference"`
	Train     int    `json:"train"`
	Class     string `json:"seat_class"`
	Passenger struct {
		Name string `json:"name"`
	} `json:"passenger"`
}

// attempt is a booking that was tried, and its result.
type attempt struct {
	class  string
	result string
}

// booked returns the booking if there is one. Whatever else the result says is
// a refusal or a failure.
func (a attempt) booked() (booking, bool) {
	var b booking
	ok := json.Unmarshal([]byte(a.result), &b) == nil && b.Reference != ""
	return b, ok
}

// why is the reason in a refusal, or all of it.
func (a attempt) why() string {
	_, reason, found := strings.Cut(a.result, "Reason: ")
	if !found {
		reason = strings.TrimPrefix(a.result, "Error: ")
	}
	return strings.TrimSuffix(reason, ".")
}

// memory is what the model knows: what stands in the conversation since the
// last word of the user.
type memory struct {
	to, date  string
	asked     bool // for the trains
	timetable string
	trains    []train
	attempts  []attempt
}

var journey = regexp.MustCompile(`(?i)\bto (\p{L}[\p{L} .'-]*?) on (\p{L}+)`)

func remember(messages []message) memory {
	last := 0
	for i, m := range messages {
		if m.Role == "user" {
			last = i
		}
	}
	know := memory{to: "Mar del Plata", date: "Friday"}
	if found := journey.FindStringSubmatch(messages[last].text()); found != nil {
		know.to, know.date = found[1], found[2]
	}
	made := map[string]toolCall{}
	for _, m := range messages[last:] {
		for _, c := range m.ToolCalls {
			made[c.ID] = c
		}
		if m.Role == "tool" {
			know.learn(made[m.ToolCallID], m.text())
		}
	}
	return know
}

// learn takes in the result of a call.
func (know *memory) learn(c toolCall, result string) {
	switch c.Function.Name {
	case findTrains:
		know.asked, know.timetable = true, result
		var found struct{ Trains []train }
		if json.Unmarshal([]byte(result), &found) == nil {
			know.trains = found.Trains
		}
	case bookTicket:
		var args struct {
			Class string `json:"seat_class"`
		}
		_ = json.Unmarshal([]byte(c.Function.Arguments), &args) // no class, then
		know.attempts = append(know.attempts, attempt{class: args.Class, result: result})
	}
}

const (
	findTrains = "find_trains"
	traveller  = "traveller_profile"
	bookTicket = "book_ticket"
)

// next is the script: look for trains and for who travels, book first class,
// book tourist class where that was refused, and tell what came of it.
func next(req request) reply {
	know := remember(req.Messages)
	switch {
	case !know.asked && !req.offers(findTrains):
		return reply{text: "I can't look for trains: there is no tool for it."}
	case !know.asked:
		says := reply{calls: []call{{findTrains, map[string]any{"to": know.to, "date": know.date}}}}
		if req.offers(traveller) {
			says.calls = append(says.calls, call{traveller, map[string]any{}})
		}
		return says
	case len(know.trains) == 0:
		return reply{text: fmt.Sprintf("I found no train to %s on %s: %s", know.to, know.date, know.timetable)}
	case !req.offers(bookTicket):
		return reply{text: fmt.Sprintf("Train %d leaves for %s at %s, but I can't book: there is no tool for it.",
			know.trains[0].Train, know.to, know.trains[0].Departs)}
	case len(know.attempts) == 0:
		return know.book("first", "I'll book the most comfortable seat.")
	}
	last := know.attempts[len(know.attempts)-1]
	if _, ok := last.booked(); !ok && last.class == "first" && !strings.Contains(last.result, "book nothing") {
		return know.book("tourist", "First class was refused, so I'll book tourist class.")
	}
	return reply{text: know.report()}
}

func (know *memory) book(class, why string) reply {
	return reply{text: why, calls: []call{{bookTicket, map[string]any{"train": know.trains[0].Train, "seat_class": class}}}}
}

// report is the final answer. It tells of a booking what the result says, which
// need not be what was asked for.
func (know *memory) report() string {
	var b strings.Builder
	for _, a := range know.attempts {
		booked, ok := a.booked()
		if !ok {
			continue
		}
		class, number := cmp.Or(booked.Class, a.class), cmp.Or(booked.Train, know.trains[0].Train)
		fmt.Fprintf(&b, "Booked: a %s class seat to %s on %s, train %d", class, know.to, know.date, number)
		if i := slices.IndexFunc(know.trains, func(t train) bool { return t.Train == number }); i >= 0 {
			fmt.Fprintf(&b, " at %s", know.trains[i].Departs)
		}
		fmt.Fprintf(&b, ", for %s. The reference is %s. ", booked.Passenger.Name, booked.Reference)
	}
	if b.Len() == 0 {
		b.WriteString("I booked nothing. ")
	}
	for _, a := range know.attempts {
		if _, ok := a.booked(); !ok {
			fmt.Fprintf(&b, "The %s class seat was refused: %s. ", a.class, a.why())
		}
	}
	return strings.TrimSpace(b.String())
}
