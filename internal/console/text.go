package console

// What a question looks like. Text that a model made up must not be able to
// hide or repaint what a person is about to approve, so whatever a terminal
// obeys or a person can't see is written as an escape, unless the script or
// the emoji around it needs it.

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// questionText lays a question out for a terminal, with the cursor behind it.
func questionText(prompt, message string) string {
	prompt, message = printable(prompt), printable(message)
	if prompt != "" && message != "" && !strings.HasSuffix(prompt, "\n") {
		prompt += "\n"
	}
	text := prompt + message
	if text != "" && !strings.HasSuffix(text, "\n") && !strings.HasSuffix(text, " ") {
		text += " "
	}
	return text
}

// printable returns s with everything escaped that could make a terminal show
// something else than s, or nothing for a part of it.
func printable(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var p printer
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		next, _ := utf8.DecodeRuneInString(s[i+size:])
		if r == utf8.RuneError && size == 1 {
			p.escape(`\x%02x`, rune(s[i])) // some terminals take bytes from 0x80 on for control characters
		} else {
			p.add(r, next)
		}
		i += size
	}
	return p.out.String()
}

// printer writes one rune after the other, as it is or escaped. An escape
// begins the text anew: what needs a rune before it isn't kept behind one.
type printer struct {
	out   strings.Builder
	prev  rune // the rune before, or 0
	base  rune // the last one that stands for itself: no mark and no joiner; or 0
	marks int  // marks that share the place of base
}

// maxMarks is how many marks may be heaped on one letter. Hebrew with all of
// its points and accents has five.
const maxMarks = 8

// add writes r, which next follows.
func (p *printer) add(r, next rune) {
	switch {
	case r == '\n' || r == '\t':
		p.out.WriteRune(r)
		p.prev, p.base, p.marks = 0, 0, 0
	case unicode.IsControl(r):
		p.escape(`\x%02x`, r)
	case !p.shows(r, next):
		if r > 0xffff {
			p.escape(`\U%08x`, r)
		} else {
			p.escape(`\u%04x`, r)
		}
	default:
		p.out.WriteRune(r)
		p.prev = r
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, vowels):
			p.marks++
		case !unicode.Is(joiners, r):
			p.base, p.marks = r, 0
		}
	}
}

func (p *printer) escape(format string, r rune) {
	fmt.Fprintf(&p.out, format, r)
	p.prev, p.base, p.marks = 0, 0, 0
}

// shows reports whether a person sees r, or sees by its neighbours that it is
// there.
func (p *printer) shows(r, next rune) bool {
	switch {
	case unicode.Is(joiners, r):
		return p.joins(next)
	case r == textStyle || r == emojiStyle:
		return isEmoji(p.prev) || next == keycap && strings.ContainsRune("0123456789#*", p.prev)
	case unicode.Is(mongolianForms, r):
		return unicode.Is(unicode.Mongolian, p.prev) && unicode.IsLetter(p.prev)
	case !unicode.IsGraphic(r), unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, blanks):
		return false
	case unicode.In(r, unicode.Mn, unicode.Me):
		return p.base != 0 && p.marks < maxMarks
	case unicode.Is(vowels, r):
		return unicode.Is(unicode.Hangul, p.base) && p.marks < maxMarks
	}
	return true
}

// joins reports whether a joiner between base, with its marks, and next
// changes how they look.
func (p *printer) joins(next rune) bool {
	switch {
	case p.prev == 0 || unicode.Is(joiners, p.prev) || unicode.Is(joiners, next):
		return false
	case isEmoji(p.base):
		return isEmoji(next)
	}
	for _, script := range joiningScripts {
		if unicode.Is(script, p.base) {
			return unicode.Is(script, next) || unicode.Is(viramas, p.prev)
		}
	}
	return false
}

const (
	textStyle  = '\ufe0e' // a variation selector
	emojiStyle = '\ufe0f' // a variation selector
	keycap     = '\u20e3'
)

// joiners have no look of their own: they change how their neighbours do.
var joiners = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1039, Hi: 0x1039, Stride: 1}, // Myanmar, stacks
		{Lo: 0x17d2, Hi: 0x17d2, Stride: 1}, // Khmer, stacks
		{Lo: 0x180e, Hi: 0x180e, Stride: 1}, // Mongolian, sets a vowel apart
		{Lo: 0x1a60, Hi: 0x1a60, Stride: 1}, // Tai Tham, stacks
		{Lo: 0x1bab, Hi: 0x1bab, Stride: 1}, // Sundanese, stacks
		{Lo: 0x200c, Hi: 0x200d, Stride: 1}, // zero-width non-joiner and joiner
		{Lo: 0x2d7f, Hi: 0x2d7f, Stride: 1}, // Tifinagh, joins
		{Lo: 0xaaf6, Hi: 0xaaf6, Stride: 1}, // Meetei Mayek, stacks
	},
	R32: []unicode.Range32{
		{Lo: 0x10a3f, Hi: 0x10a3f, Stride: 1}, // Kharoshthi, stacks
		{Lo: 0x11133, Hi: 0x11133, Stride: 1}, // Chakma, stacks
		{Lo: 0x1193e, Hi: 0x1193e, Stride: 1}, // Dives Akuru, stacks
		{Lo: 0x11a47, Hi: 0x11a47, Stride: 1}, // Zanabazar Square, stacks
		{Lo: 0x11a99, Hi: 0x11a99, Stride: 1}, // Soyombo, stacks
		{Lo: 0x11f42, Hi: 0x11f42, Stride: 1}, // Kawi, stacks
	},
}

// viramas show whether a joiner follows, also at the end of a word.
var viramas = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x094d, Hi: 0x0d4d, Stride: 0x80}, // Devanagari to Malayalam
		{Lo: 0x0dca, Hi: 0x0dca, Stride: 1},    // Sinhala
	},
}

// mongolianForms choose between the shapes of the letter before them.
var mongolianForms = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x180b, Hi: 0x180d, Stride: 1},
		{Lo: 0x180f, Hi: 0x180f, Stride: 1},
	},
}

// vowels are the vowels and final consonants of Korean syllables written in
// parts. They share the place of the consonant before them: terminals give them
// no width.
var vowels = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1161, Hi: 0x11ff, Stride: 1},
		{Lo: 0xd7b0, Hi: 0xd7c6, Stride: 1},
		{Lo: 0xd7cb, Hi: 0xd7fb, Stride: 1},
	},
}

// blanks are graphic by their category, and nothing is seen of them.
var blanks = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // Braille without a dot
	},
	R32: []unicode.Range32{
		{Lo: 0x13441, Hi: 0x13442, Stride: 1}, // hieroglyphs
		{Lo: 0x16fe4, Hi: 0x16fe4, Stride: 1}, // Khitan filler
		{Lo: 0x1d159, Hi: 0x1d159, Stride: 1}, // note without a head
	},
}

// joiningScripts are those whose letters look different when they are joined.
var joiningScripts = []*unicode.RangeTable{
	unicode.Adlam, unicode.Arabic, unicode.Balinese, unicode.Bengali, unicode.Brahmi, unicode.Chakma,
	unicode.Chorasmian, unicode.Devanagari, unicode.Dives_Akuru, unicode.Grantha, unicode.Gujarati,
	unicode.Gurmukhi, unicode.Hanifi_Rohingya, unicode.Javanese, unicode.Kaithi, unicode.Kannada, unicode.Kawi,
	unicode.Kharoshthi, unicode.Khmer, unicode.Malayalam, unicode.Mandaic, unicode.Manichaean,
	unicode.Meetei_Mayek, unicode.Modi, unicode.Mongolian, unicode.Myanmar, unicode.Newa, unicode.Nko,
	unicode.Old_Uyghur, unicode.Oriya, unicode.Phags_Pa, unicode.Psalter_Pahlavi, unicode.Sharada,
	unicode.Sinhala, unicode.Sogdian, unicode.Soyombo, unicode.Sundanese, unicode.Syriac, unicode.Tai_Tham,
	unicode.Tamil, unicode.Telugu, unicode.Tibetan, unicode.Tifinagh, unicode.Tirhuta,
	unicode.Zanabazar_Square,
}

func isEmoji(r rune) bool { return unicode.Is(emoji, r) }

// emoji holds the characters that are emoji, or blocks of pictures that they
// lie in. Package unicode has no table of them.
var emoji = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00a9, Hi: 0x00ae, Stride: 5}, // © ®
		{Lo: 0x203c, Hi: 0x203c, Stride: 1},
		{Lo: 0x2049, Hi: 0x2049, Stride: 1},
		{Lo: 0x2122, Hi: 0x2122, Stride: 1},
		{Lo: 0x2139, Hi: 0x2139, Stride: 1},
		{Lo: 0x2194, Hi: 0x2199, Stride: 1},
		{Lo: 0x21a9, Hi: 0x21aa, Stride: 1},
		{Lo: 0x231a, Hi: 0x23ff, Stride: 1},
		{Lo: 0x24c2, Hi: 0x24c2, Stride: 1},
		{Lo: 0x25aa, Hi: 0x25fe, Stride: 1},
		{Lo: 0x2600, Hi: 0x27bf, Stride: 1},
		{Lo: 0x2934, Hi: 0x2935, Stride: 1},
		{Lo: 0x2b05, Hi: 0x2b55, Stride: 1},
		{Lo: 0x3030, Hi: 0x3030, Stride: 1},
		{Lo: 0x303d, Hi: 0x303d, Stride: 1},
		{Lo: 0x3297, Hi: 0x3299, Stride: 2},
	},
	R32:         []unicode.Range32{{Lo: 0x1f000, Hi: 0x1faff, Stride: 1}},
	LatinOffset: 1,
}
