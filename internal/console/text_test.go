package console

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestPrintable_kept(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]string{
		"empty":                       "",
		"ASCII":                       `rm -rf "/tmp/a b" \x1b`,
		"line break and tab":          "a\n\tb\n",
		"accents":                     "Olá, ação, Żółć, Ελλάς, Привет",
		"accents as marks":            "Ola\u0301, Vie\u0302\u0323t",
		"Korean":                      "예, 안녕하세요",
		"Korean in parts":             "\u110b\u1168 \u1112\u1161\u11ab\u1100\u1173\u11af \uac00\u11a8 ㅏ",
		"Hebrew":                      "שלום",
		"Hebrew with points":          "בְּרֵאשִׁ֖ית",
		"Arabic with marks":           "مَرْحَبًا",
		"Chinese and Japanese":        "中文、日本語。が",
		"Thai":                        "ที่นี่",
		"Tibetan stack":               "རྒྱུ",
		"spaces":                      "1\u00a0000\u202f€\u3000x",
		"symbols":                     "€ ∑ → ✓ █ ⠿ │",
		"private letters of no model": "ẞ ǅ ª",
		"skin tone":                   "👍🏽",
		"text style":                  "❤\ufe0e ☎\ufe0e",
		"emoji style":                 "❤\ufe0f ☺\ufe0f ©\ufe0f",
		"keycap":                      "1\ufe0f\u20e3 #\ufe0f\u20e3 *\ufe0f\u20e3",
		"flag":                        "🇧🇷 🇰🇷",
		"family":                      "👨\u200d👩\u200d👧\u200d👦",
		"skin tone and profession":    "👩🏽\u200d⚕\ufe0f",
		"heart on fire":               "❤\ufe0f\u200d🔥",
		"rainbow flag":                "🏳\ufe0f\u200d🌈",
		"black cat":                   "🐈\u200d⬛",
		"head shaking":                "🙂\u200d↔\ufe0f",
		"Persian":                     "می\u200cخواهم خانه\u200cها",
		"Persian behind a mark":       "بَ\u200cها",
		"Persian digits":              "۵\u200cتا",
		"Devanagari half form":        "क्\u200dष",
		"Devanagari without ligature": "क्\u200cष",
		"Marathi eyelash":             "र्\u200dया",
		"Sinhala":                     "ශ්\u200dරී",
		"Bengali":                     "র\u200d্যাম",
		"Malayalam at a word's end":   "അവന്\u200d വന്നു",
		"Khmer stack":                 "ខ្មែរ",
		"Burmese stack":               "မန္တလေး",
		"Mongolian":                   "ᠨ\u180b ᠠᠨ\u180eᠠ",
		"eight marks":                 "o" + strings.Repeat("\u0308", maxMarks),
		"marks on each letter":        strings.Repeat("o\u0308\u0323", 20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, s, printable(s), "%+q", s)
		})
	}
}

func TestPrintable_escaped(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ s, want string }{
		"terminal commands":        {"\x1b[2K\rls\x07\x7f", `\x1b[2K\x0dls\x07\x7f`},
		"CRLF is a line break":     {"a\r\nb\r", "a\nb" + `\x0d`},
		"C1 control":               {"\u009b2K\u0085", `\x9b2K\x85`},
		"invalid UTF-8":            {"a\x9bb\xff\xe2\x80", `a\x9bb\xff\xe2\x80`},
		"replacement character":    {"a\ufffdb", "a\ufffdb"},
		"soft hyphen":              {"rm\u00ad", `rm\u00ad`},
		"Arabic letter mark":       {"a\u061c", `a\u061c`},
		"Mongolian vowel sign":     {"a\u180eb", `a\u180eb`},
		"zero-width space":         {"ana\u200b@example.com", `ana\u200b@example.com`},
		"direction marks":          {"a\u200e\u200f", `a\u200e\u200f`},
		"line separators":          {"a\u2028b\u2029", `a\u2028b\u2029`},
		"direction overrides":      {"gpj.\u202eexe\u202c\u2066", `gpj.\u202eexe\u202c\u2066`},
		"word joiner, operators":   {"a\u2060\u2061\u2062\u2063\u2064", `a\u2060\u2061\u2062\u2063\u2064`},
		"undefined":                {"a\u2065\u0378", `a\u2065\u0378`},
		"deprecated formats":       {"a\u206a\u206f", `a\u206a\u206f`},
		"byte order mark":          {"\ufeffrm", `\ufeffrm`},
		"annotation":               {"a\ufff9b\ufffac\ufffb", `a\ufff9b\ufffac\ufffb`},
		"music format":             {"a\U0001d173\U0001d17a", `a\U0001d173\U0001d17a`},
		"shorthand format":         {"a\U0001bca0", `a\U0001bca0`},
		"tags":                     {"a\U000e0001\U000e0061\U000e007f", `a\U000e0001\U000e0061\U000e007f`},
		"tags behind a flag":       {"🏴\U000e0067\U000e007f", `🏴\U000e0067\U000e007f`},
		"private use":              {"\ue000\U000f0000", `\ue000\U000f0000`},
		"Hangul fillers":           {"\u115f\u1160\u3164\uffa0", `\u115f\u1160\u3164\uffa0`},
		"Korean vowel in Latin":    {"rm\u1161 \u1161\ud7b0\u11a8", `rm\u1161 \u1161\ud7b0\u11a8`},
		"Braille blank":            {"a\u2800b", `a\u2800b`},
		"blank note":               {"a\U0001d159", `a\U0001d159`},
		"Khitan filler":            {"a\U00016fe4", `a\U00016fe4`},
		"Khmer inherent vowels":    {"ខ\u17b4\u17b5", `ខ\u17b4\u17b5`},
		"grapheme joiner":          {"a\u034fb", `a\u034fb`},
		"variation selector":       {"a\ufe00中\ufe01", `a\ufe00中\ufe01`},
		"variation of an ideogram": {"葛\U000e0100", `葛\U000e0100`},
		"bytes in selectors":       {"😀\ufe0f\U000e0150\U000e0151", "😀\ufe0f" + `\U000e0150\U000e0151`},
		"style of a letter":        {"a\ufe0fb\ufe0e", `a\ufe0fb\ufe0e`},
		"style of a digit":         {"1\ufe0f2", `1\ufe0f2`},
		"two styles":               {"❤\ufe0f\ufe0f", "❤\ufe0f" + `\ufe0f`},
		"style at the start":       {"\ufe0f❤", `\ufe0f❤`},
		"Mongolian form":           {"a\u180bᠨ\u180b\u180c", `a\u180b` + "ᠨ\u180b" + `\u180c`},
		"joiner in Latin":          {"Auf\u200clage\u200d", `Auf\u200clage\u200d`},
		"joiner in Cyrillic":       {"ра\u200dз", `ра\u200dз`},
		"joiner at the start":      {"\u200cخ", `\u200cخ`},
		"joiner at the end":        {"خ\u200c", `خ\u200c`},
		"joiner at a space":        {"می\u200c خ", `می\u200c خ`},
		"joiner of two scripts":    {"می\u200cक", `می\u200cक`},
		"joiner and Latin":         {"می\u200ca\u200cخ", `می\u200ca\u200cخ`},
		"two joiners":              {"می\u200c\u200cخ", `می\u200c\u200cخ`},
		"two joiners of a virama":  {"क्\u200d\u200dष", `क्\u200d\u200dष`},
		"joiner behind an emoji":   {"👨\u200d", `👨\u200d`},
		"emoji and a letter":       {"👨\u200da\u200d👩", `👨\u200da\u200d👩`},
		"joiner behind an escape":  {"خ\u200b\u200cخ", `خ\u200b\u200cخ`},
		"stacker in Latin":         {"a\u1039b\u17d2c", `a\u1039b\u17d2c`},
		"mark without a letter":    {"\u0301a\n\u0338b", `\u0301a` + "\n" + `\u0338b`},
		"flood of marks": {
			"o" + strings.Repeat("\u0308", maxMarks) + "\u0308\u0323x",
			"o" + strings.Repeat("\u0308", maxMarks) + `\u0308\u0323x`,
		},
		"flood of vowels": {
			"\u110b" + strings.Repeat("\u1161", maxMarks+1),
			"\u110b" + strings.Repeat("\u1161", maxMarks) + `\u1161`,
		},
		"flood with joiners": {
			strings.Repeat("\u094d\u200d", maxMarks+1) + "क",
			strings.Repeat(`\u094d\u200d`, maxMarks+1) + "क",
		},
		"flood of joined marks": {
			"क" + strings.Repeat("\u094d\u200d", maxMarks) + "\u094d",
			"क" + strings.Repeat("\u094d\u200d", maxMarks) + `\u094d`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := printable(tc.s)
			assert.Equal(t, tc.want, got, "%+q", got)
			assert.True(t, utf8.ValidString(got))
			assert.Equal(t, got, printable(got), "nothing is left to escape")
		})
	}
}

func TestQuestionText_escapesBothParts(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `a\u200b`+"\n"+`b\u202e `, questionText("a\u200b", "b\u202e"))
	assert.Equal(t, "a\n"+`\u0301b `, questionText("a", "\u0301b"), "a mark doesn't reach back")
}
