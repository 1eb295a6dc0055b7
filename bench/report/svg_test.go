package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/loophooks/hooks/bench"
)

func TestPictureIsWellFormedAndNamesEveryRow(t *testing.T) {
	t.Parallel()
	d := xml.NewDecoder(strings.NewReader(picture(sample(3))))
	var text strings.Builder
	classes := make(map[string]bool)
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch tok := tok.(type) {
		case xml.CharData:
			text.Write(tok)
		case xml.StartElement:
			for _, a := range tok.Attr {
				if a.Name.Local == "class" {
					for _, class := range strings.Fields(a.Value) {
						classes[class] = true
					}
				}
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s has %s=%q", tok.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
	for _, row := range bench.Rows() {
		if !strings.Contains(text.String(), row.Label+" · ") {
			t.Errorf("%s isn't in the picture", row.Label)
		}
	}
	for class := range classes {
		if !strings.Contains(style(), "."+class+" {") {
			t.Errorf("the class %s has no style", class)
		}
	}
	if classes["other"] {
		t.Error("a library has no colour of its own")
	}
}

func TestPictureOfNothingMeasuredIsWellFormed(t *testing.T) {
	t.Parallel()
	if err := xml.Unmarshal([]byte(picture(newResults())), new(struct{})); err != nil {
		t.Error(err)
	}
}

func TestBoundsAreTheDecadesAroundAllTimes(t *testing.T) {
	t.Parallel()
	row := bench.Row{Group: bench.Dispatch, Name: "x", Sizes: []int{0, 1}}
	for _, c := range []struct{ least, most, low, high float64 }{
		{0.49, 133, 0.1, 1000},
		{2, 9, 1, 10},
		{10, 100, 10, 100},
		{10, 10, 10, 100},
	} {
		r := newResults()
		r.add(cell{row.Group, row.Name, 0}, figures{nanoseconds: c.least})
		r.add(cell{row.Group, row.Name, 1}, figures{nanoseconds: c.most})
		if low, high := bounds(r, []bench.Row{row}); low != c.low || high != c.high {
			t.Errorf("times from %v to %v: bounds %v and %v, want %v and %v", c.least, c.most, low, high, c.low, c.high)
		}
	}
}

func TestLabelsKeepTheirDistanceAndOrder(t *testing.T) {
	t.Parallel()
	var lines []line
	for _, y := range []float64{398, 100, 399, 400, 101, 397, 250} {
		lines = append(lines, line{points: []point{{0, 0}, {1, y}}})
	}
	placeLabels(lines, 400)
	for i, l := range lines {
		if l.labelY > 400 {
			t.Errorf("label %d at %v, below the plot", i, l.labelY)
		}
		if i == 0 {
			continue
		}
		if before := lines[i-1]; l.labelY-before.labelY < labelStep || l.points[1].y < before.points[1].y {
			t.Errorf("label %d of the line to %v is at %v, the one before, to %v, at %v",
				i, l.points[1].y, l.labelY, before.points[1].y, before.labelY)
		}
	}
	if alone := lines[2]; alone.points[1].y != 250 || alone.labelY != 250 {
		t.Errorf("a label with room around it was moved from %v to %v", alone.points[1].y, alone.labelY)
	}
}
