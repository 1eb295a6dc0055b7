package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loophooks/hooks/bench"
)

// The picture has one panel per group, one below the other: the number of
// hooks to the right, time upwards on a logarithmic scale. Every line has its
// name at its right end, so that nobody has to match colours with a legend.
const (
	pictureWidth = 1080
	plotLeft     = 76
	plotRight    = 670
	labelLeft    = plotRight + 30
	labelStep    = 17 // least distance between two labels
	headHeight   = 84
	panelTop     = 40 // within a panel, the title above and
	panelBottom  = 52 // the axis below the plot
)

// shade is a colour on white and on dark ground. The picture paints its own
// ground, dark where the reader prefers that, so it is legible on any page.
type shade struct{ name, light, dark string }

var shades = []shade{
	{"ground", "#ffffff", "#0d1117"},
	{"ink", "#1f2328", "#e6edf3"},
	{"soft", "#59636e", "#9198a1"},
	{"grid", "#d8dee4", "#2f363d"},
	{"own0", "#0550ae", "#58a6ff"},
	{"own1", "#8250df", "#bc8cff"},
	{"own2", "#0a7ea4", "#39c5cf"},
	{"ref", "#57606a", "#9198a1"},
	{"eino", "#bc4c00", "#f0883e"},
	{"mcp-go", "#cf222e", "#ff7b72"},
	{"go-sdk", "#9a6700", "#e3b341"},
	{"langchaingo", "#1a7f37", "#56d364"},
	{"openfeature", "#bf3989", "#f778ba"},
	{"chi", "#6f4e37", "#c9a27e"},
	{"genkit", "#5c6b00", "#b3c13a"},
	{"other", "#59636e", "#9198a1"},
}

// style has two classes for each shade, since not every program that shows
// SVG knows variables: one that fills and one that strokes.
func style() string {
	var light, dark strings.Builder
	for _, s := range shades {
		fmt.Fprintf(&light, "  .%s { fill: %s } .%s-line { fill: none; stroke: %s }\n", s.name, s.light, s.name, s.light)
		fmt.Fprintf(&dark, "    .%s { fill: %s } .%s-line { fill: none; stroke: %s }\n", s.name, s.dark, s.name, s.dark)
	}
	return `
  text { font-family: "Noto Sans", "DejaVu Sans", Helvetica, Arial, sans-serif; font-size: 13px }
  .title { font-size: 20px; font-weight: 600 } .panel { font-size: 16px; font-weight: 600 } .bold { font-weight: 600 }
` + light.String() + "  @media (prefers-color-scheme: dark) {\n" + dark.String() + "  }\n"
}

// line is one row in a panel.
type line struct {
	row    bench.Row
	colour string // the name of a shade
	dash   string
	marker string
	points []point
	label  string
	labelY float64
}

type point struct{ x, y float64 }

type canvas struct{ strings.Builder }

func (c *canvas) printf(format string, args ...any) {
	fmt.Fprintf(&c.Builder, format+"\n", args...)
}

// picture returns the measurements as an SVG document.
func picture(r *results) string {
	var body canvas
	y := float64(headHeight)
	rows := bench.Rows()
	for _, text := range groupTexts {
		group := rowsOf(rows, text.group)
		height := max(230, float64(len(group)*labelStep+70)) * 1.25
		panel(&body, r, group, text.title, y, height)
		y += panelTop + height + panelBottom
	}
	var c canvas
	c.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" width="%d" height="%.0f" role="img" aria-labelledby="name what">`,
		pictureWidth, y, pictureWidth, y)
	c.printf(`<title id="name">Cost of calling hooks</title>`)
	c.printf(`<desc id="what">Median time per operation against the number of hooks, for this library, other libraries and loops written by hand. The figures are in README.md.</desc>`)
	c.printf(`<style>%s</style>`, style())
	c.printf(`<rect width="%d" height="%.0f" rx="8" class="ground"/>`, pictureWidth, y)
	c.printf(`<text class="title ink" x="20" y="34">Cost of calling hooks that do nothing</text>`)
	legend(&c)
	c.WriteString(body.String())
	c.printf(`</svg>`)
	return c.String()
}

func legend(c *canvas) {
	x := 20.0
	for _, entry := range []struct {
		line  line
		text  string
		width float64
	}{
		{line{row: bench.Row{Kind: bench.Library}, colour: "own0", marker: "circle"}, "this library", 150},
		{line{row: bench.Row{Kind: bench.Peer}, colour: "eino", marker: "square"}, "other libraries", 170},
		{line{row: bench.Row{Kind: bench.Reference}, colour: "ref", marker: "diamond", dash: "6 4"}, "written by hand", 190},
	} {
		entry.line.points = []point{{x, 58}, {x + 18, 58}, {x + 36, 58}}
		drawPath(c, entry.line)
		drawMarker(c, entry.line, entry.line.points[1])
		c.printf(`<text class="ink" x="%.1f" y="62.5">%s</text>`, x+44, entry.text)
		x += entry.width
	}
	c.printf(`<text class="soft" x="%.1f" y="62.5">median time per operation, logarithmic; less is better</text>`, x)
}

// panel draws one group into the strip of the given height that begins at top.
func panel(c *canvas, r *results, rows []bench.Row, title string, top, height float64) {
	sizes := sizesOf(rows)
	low, high := bounds(r, rows)
	c.printf(`<text class="panel ink" x="20" y="%.1f">%s</text>`, top+18, escape(title))
	plotBottom := top + panelTop + height
	yOf := func(ns float64) float64 {
		at := (math.Log10(ns) - math.Log10(low)) / (math.Log10(high) - math.Log10(low))
		return plotBottom - at*height
	}
	xOf := func(n int) float64 {
		i := slices.Index(sizes, n)
		return plotLeft + 24 + float64(i)/float64(max(1, len(sizes)-1))*(plotRight-plotLeft-48)
	}
	for _, ns := range ticks(low, high) {
		c.printf(`<line class="grid-line" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`, plotLeft, plotRight, yOf(ns), yOf(ns))
		c.printf(`<text class="soft" x="%d" y="%.1f" text-anchor="end">%s</text>`, plotLeft-8, yOf(ns)+4.5, tickText(ns))
	}
	for _, n := range sizes {
		c.printf(`<text class="soft" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, xOf(n), plotBottom+20, comma(n))
	}
	c.printf(`<text class="soft" x="%d" y="%.1f" text-anchor="middle">N, hooks registered</text>`, (plotLeft+plotRight)/2, plotBottom+38)

	lines := linesOf(r, rows, xOf, yOf)
	placeLabels(lines, plotBottom)
	// The library's lines are drawn last, above the others.
	slices.SortStableFunc(lines, func(a, b line) int { return rank(a.row.Kind) - rank(b.row.Kind) })
	for _, l := range lines {
		end := l.points[len(l.points)-1]
		if end.x < xOf(sizes[len(sizes)-1]) {
			// The way to the label crosses the panel, and mustn't look like the grid.
			c.printf(`<path class="%s-line" stroke-dasharray="1 5" d="M%.1f %.1f L%d %.1f"/>`, l.colour, end.x+9, end.y, plotRight-8, end.y)
			end.x = plotRight - 8
		}
		c.printf(`<path class="grid-line" d="M%.1f %.1f L%d %.1f L%d %.1f"/>`, end.x+7, end.y, plotRight+4, l.labelY, labelLeft-4, l.labelY)
	}
	for _, l := range lines {
		drawPath(c, l)
		for _, p := range l.points {
			drawMarker(c, l, p)
		}
		class := l.colour
		if l.row.Kind == bench.Library {
			class += " bold"
		}
		c.printf(`<text class="%s" x="%d" y="%.1f">%s</text>`, class, labelLeft, l.labelY+4.5, escape(l.label))
	}
}

func rank(k bench.Kind) int {
	return map[bench.Kind]int{bench.Reference: 0, bench.Peer: 1, bench.Library: 2}[k]
}

// linesOf gives each measured row of a panel its points and its looks.
func linesOf(r *results, rows []bench.Row, xOf func(int) float64, yOf func(float64) float64) []line {
	used := make(map[string]bool)
	var lines []line
	for _, row := range rows {
		l := look(row, used)
		last := 0.0
		for _, n := range row.Sizes {
			if ns, ok := r.time(cell{row.Group, row.Name, n}); ok && ns > 0 {
				l.points = append(l.points, point{xOf(n), yOf(ns)})
				last = ns
			}
		}
		if len(l.points) == 0 {
			continue
		}
		l.label = row.Label + " · " + timeText(last)
		lines = append(lines, l)
	}
	return lines
}

// look chooses a row's colour, dashes and marker, the same in every panel. The
// second row of a module in a panel is dashed, which used keeps track of.
func look(row bench.Row, used map[string]bool) line {
	l := line{row: row}
	switch row.Kind {
	case bench.Library:
		l.colour, l.marker = "own0", "circle"
		switch row.Name {
		case "hooks-scope", "hooks-unfiltered":
			l.colour = "own1"
		case "hooks-observed":
			l.colour = "own2"
		case "hooks-beside-scope":
			l.dash = "7 4"
		}
	case bench.Peer:
		l.colour, l.marker = "other", "square"
		for _, s := range shades {
			if s.name == row.Name || strings.HasPrefix(row.Name, s.name+"-") {
				l.colour = s.name
			}
		}
		if used[row.Module] {
			l.dash = "8 4"
		}
		used[row.Module] = true
	default:
		l.colour, l.marker, l.dash = "ref", "diamond", "2 3"
		switch row.Name {
		case plainLoop:
			l.dash = "7 4"
		case "loop-recover", "map-by-tool":
			l.dash = "10 4 2 4"
		}
	}
	return l
}

// placeLabels sorts lines by their right ends and sets the height of each
// label as near to its line's end as the others allow.
func placeLabels(lines []line, bottom float64) {
	slices.SortStableFunc(lines, func(a, b line) int {
		ya, yb := a.points[len(a.points)-1].y, b.points[len(b.points)-1].y
		switch {
		case ya < yb:
			return -1
		case ya > yb:
			return 1
		}
		return 0
	})
	for i := range lines {
		lines[i].labelY = lines[i].points[len(lines[i].points)-1].y
		if i > 0 {
			lines[i].labelY = max(lines[i].labelY, lines[i-1].labelY+labelStep)
		}
	}
	// What ran over the lower edge is pushed up again, from the last one on.
	limit := bottom
	for i := len(lines) - 1; i >= 0; i-- {
		lines[i].labelY = min(lines[i].labelY, limit)
		limit = lines[i].labelY - labelStep
	}
}

func drawPath(c *canvas, l line) {
	if len(l.points) < 2 {
		return
	}
	var d strings.Builder
	for i, p := range l.points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&d, "%s%.1f %.1f ", command, p.x, p.y)
	}
	width := 1.8
	if l.row.Kind == bench.Library {
		width = 3
	}
	dash := ""
	if l.dash != "" {
		dash = fmt.Sprintf(` stroke-dasharray="%s"`, l.dash)
	}
	c.printf(`<path d="%s" class="%s-line" stroke-linejoin="round" stroke-width="%.1f"%s/>`,
		strings.TrimSpace(d.String()), l.colour, width, dash)
}

func drawMarker(c *canvas, l line, p point) {
	switch l.marker {
	case "circle":
		c.printf(`<circle cx="%.1f" cy="%.1f" class="%s" r="4.5"/>`, p.x, p.y, l.colour)
	case "square":
		c.printf(`<rect x="%.1f" y="%.1f" class="%s" width="7" height="7"/>`, p.x-3.5, p.y-3.5, l.colour)
	default:
		c.printf(`<path d="M%.1f %.1f l4.5 4.5 l-4.5 4.5 l-4.5 -4.5 z" class="%s"/>`, p.x, p.y-4.5, l.colour)
	}
}

// bounds returns the powers of ten around all times of rows, at least one
// decade apart.
func bounds(r *results, rows []bench.Row) (low, high float64) {
	least, most := math.Inf(1), 0.0
	for _, row := range rows {
		for _, n := range row.Sizes {
			if ns, ok := r.time(cell{row.Group, row.Name, n}); ok && ns > 0 {
				least, most = min(least, ns), max(most, ns)
			}
		}
	}
	if most == 0 {
		return 1, 10
	}
	low = math.Pow(10, math.Floor(math.Log10(least)))
	high = math.Pow(10, math.Ceil(math.Log10(most)))
	if high <= low {
		high = low * 10
	}
	return low, high
}

// ticks returns the powers of ten from low to high, which are some themselves.
func ticks(low, high float64) []float64 {
	var list []float64
	for e := math.Round(math.Log10(low)); e <= math.Round(math.Log10(high)); e++ {
		list = append(list, math.Pow(10, e))
	}
	return list
}

// tickText and timeText name a time in the largest unit that it has one of.
func tickText(ns float64) string {
	return inUnit(ns, func(v float64) string { return fmt.Sprintf("%g", v) })
}

func timeText(ns float64) string {
	return inUnit(ns, func(v float64) string { return fmt.Sprintf("%.3g", v) })
}

func inUnit(ns float64, format func(float64) string) string {
	switch {
	case ns >= 1e9:
		return format(ns/1e9) + " s"
	case ns >= 1e6:
		return format(ns/1e6) + " ms"
	case ns >= 1e3:
		return format(ns/1e3) + " µs"
	}
	return format(ns) + " ns"
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace
