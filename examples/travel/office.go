// The company's travel system, with the tools that the model may use. It has no
// rules of its own.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/loophooks/hooks/examples/travel/agent"
	"github.com/loophooks/hooks/examples/travel/saved"
)

// office is the company's travel system: a timetable, who travels, and what was
// booked. It knows of no rules: those are hooks.
type office struct {
	mu       sync.Mutex
	bookings []booking
	file     string // that keeps them; "" for none
}

type booking struct {
	Reference string    `json:"reference"`
	Train     int       `json:"train"`
	Class     string    `json:"seat_class"`
	Fare      int       `json:"fare"`
	Passenger traveller `json:"passenger"`
}

type traveller struct {
	Name     string `json:"name"`
	Document string `json:"document"`
	Prefers  string `json:"prefers,omitempty"`
}

type train struct {
	Train   int    `json:"train"`
	Departs string `json:"departs"`
	Arrives string `json:"arrives"`
	First   int    `json:"first"`   // the fare in pesos
	Tourist int    `json:"tourist"` // the fare in pesos
}

var timetable = map[string][]train{
	"mar del plata": {
		{Train: 303, Departs: "08:05", Arrives: "13:20", First: 41900, Tourist: 24500},
		{Train: 307, Departs: "15:30", Arrives: "21:10", First: 38900, Tourist: 22900},
	},
	"rosario": {
		{Train: 265, Departs: "17:35", Arrives: "23:40", First: 21300, Tourist: 13800},
	},
}

var employee = traveller{Name: "Lucía Ferrari", Document: "DNI 30.123.456", Prefers: "window"}

// Tools returns what the model may do in the office.
func (o *office) Tools() []agent.Tool {
	return []agent.Tool{
		{
			Name:        "find_trains",
			Description: "List the trains to a destination on a date, with the fare for each class.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"},"date":{"type":"string"}},` +
				`"required":["to","date"],"additionalProperties":false}`),
			Run: o.findTrains,
		},
		{
			Name:        "traveller_profile",
			Description: "Tell who the employee is who is asking, and how they like to travel.",
			Parameters:  json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
			Run:         o.profile,
		},
		{
			Name:        "book_ticket",
			Description: "Book one seat on a train for the employee who is asking.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"train":{"type":"integer"},` +
				`"seat_class":{"type":"string","enum":["first","tourist"]}},"required":["train","seat_class"],"additionalProperties":false}`),
			Run: o.bookTicket,
		},
	}
}

func (o *office) findTrains(_ context.Context, in map[string]any) (string, error) {
	to, _ := in["to"].(string)
	date, _ := in["date"].(string)
	if to == "" || date == "" {
		return "", errors.New("to and date are needed, both as text")
	}
	trains, ok := timetable[strings.ToLower(strings.TrimSpace(to))]
	if !ok {
		return "", fmt.Errorf("no trains go to %s", to)
	}
	return asJSON(struct {
		To     string  `json:"to"`
		Date   string  `json:"date"`
		Trains []train `json:"trains"`
	}{to, date, trains})
}

func (o *office) profile(context.Context, map[string]any) (string, error) { return asJSON(employee) }

func (o *office) bookTicket(_ context.Context, in map[string]any) (string, error) {
	number, _ := in["train"].(float64)
	class, _ := in["seat_class"].(string)
	fare, err := fareOf(number, class)
	if err != nil {
		return "", err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	b := booking{
		Reference: fmt.Sprintf("R%03d-%c", len(o.bookings)+1, class[0]),
		Train:     int(number),
		Class:     class,
		Fare:      fare,
		Passenger: passenger(),
	}
	if err := o.keep(append(slices.Clip(o.bookings), b)); err != nil {
		return "", err
	}
	return asJSON(b)
}

// keptBooking is what is kept of a booking. It is for the one employee there is,
// whose document number is in no file.
type keptBooking struct {
	Reference string `json:"reference"`
	Train     int    `json:"train"`
	Class     string `json:"seat_class"`
	Fare      int    `json:"fare"`
}

// keepIn has the office keep its bookings in a file of JSON, and go on from those
// that it holds. Nothing else may write it meanwhile.
func (o *office) keepIn(file string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	raw, err := os.ReadFile(file)
	var kept []keptBooking
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("the bookings can't be read: %w", err)
	default:
		if err := json.Unmarshal(raw, &kept); err != nil {
			return fmt.Errorf("the bookings in %s can't be read: %w", file, err)
		}
	}
	o.file, o.bookings = file, nil
	for _, k := range kept {
		o.bookings = append(o.bookings, booking{k.Reference, k.Train, k.Class, k.Fare, passenger()})
	}
	return nil
}

// keep makes bookings the ones there are, once they are kept. The caller holds mu.
func (o *office) keep(bookings []booking) error {
	if o.file != "" {
		var kept []keptBooking
		for _, b := range bookings {
			kept = append(kept, keptBooking{b.Reference, b.Train, b.Class, b.Fare})
		}
		raw, err := json.MarshalIndent(kept, "", "  ")
		if err == nil {
			err = saved.WriteFile(o.file, raw)
		}
		if err != nil {
			return fmt.Errorf("nothing was booked: %w", err)
		}
	}
	o.bookings = bookings
	return nil
}

func passenger() traveller { return traveller{Name: employee.Name, Document: employee.Document} }

// fareOf takes the number as JSON has it, so that 303.5 isn't train 303.
func fareOf(number float64, class string) (int, error) {
	for _, trains := range timetable {
		for _, t := range trains {
			if float64(t.Train) != number {
				continue
			}
			switch class {
			case "first":
				return t.First, nil
			case "tourist":
				return t.Tourist, nil
			}
			return 0, errors.New(`seat_class must be "first" or "tourist"`)
		}
	}
	return 0, errors.New("train must be the number of a train that find_trains lists")
}

// Bookings returns what was booked so far.
func (o *office) Bookings() []booking {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]booking(nil), o.bookings...)
}

func asJSON(v any) (string, error) {
	raw, err := json.Marshal(v)
	return string(raw), err
}
