package redact

// What belongs to persons: addresses and numbers.

import (
	"strings"
	"unicode/utf8"
)

// Mail finds e-mail addresses with letters and digits of any script, and names
// them EMAIL. What is in front of the @ has at most 64 characters (RFC 5321,
// section 4.5.3.1.1). An address git@host is no person's.
func Mail() []Pattern {
	return []Pattern{{
		Name:  "EMAIL",
		Expr:  `(?:^|[^` + local + `])([` + local + `]{1,64}@(?:[\pL\pM\pN-]{1,63}\.)+[\pL\pM]{2,63})`,
		Check: func(address string) bool { return !strings.HasPrefix(address, "git@") },
		Group: 1,
	}}
}

const local = `\pL\pM\pN._%+-`

// Cards finds the numbers of payment cards and names them CARD: 13 to 19 digits
// in any groups, with spaces or hyphens between them, that begin as those of an
// issuer do (with 3 to 6, or 2221 to 2720) and have the check digit of ISO/IEC
// 7812-1 (Luhn). Other numbers may stand beside one, as its date does; a part of
// an identifier, of a decimal fraction or of a longer number is none.
func Cards() []Pattern {
	return []Pattern{{
		Name:  "CARD",
		Expr:  `[0-9]\.[0-9]{1,40}|\b([2-6](?:[ -]?[0-9]){12,18}(?s:.{0,2}))`,
		Group: 1,
		part:  cardAt,
	}}
}

// cardAt returns the length of the longest card number that text begins with, 0
// if there is none. What is behind the number is part of the text.
func cardAt(text string) int {
	digits, longest := 0, 0
	for i := 0; i < len(text); i++ {
		if !isDigit(text[i]) {
			if i++; i == len(text) || !isDigit(text[i]) || text[i-1] != ' ' && text[i-1] != '-' {
				break
			}
		}
		digits++
		if end := i + 1; digits >= 13 && digits <= 19 && endsAlone(text[end:]) && isCard(text[:end]) {
			longest = end
		}
	}
	return longest
}

// endsAlone reports whether a number in front of the text is no part of an
// identifier, a decimal fraction or a longer group of digits. Letters of other
// scripts may follow: a Korean particle does so without a space.
func endsAlone(behind string) bool {
	switch {
	case behind == "":
		return true
	case classOf[behind[0]] == word:
		return false
	}
	return behind[0] != '.' || len(behind) == 1 || !isDigit(behind[1])
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// isCard reports whether the digits of s, of which the first is from 2 to 6, are
// those of a card. That they begin as one does rules most dates and times out.
func isCard(s string) bool {
	s = digitsOf(s)
	return (s[0] > '2' || s >= "2221" && s < "2721") && luhn(s)
}

// luhn checks the last digit.
func luhn(digits string) bool {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			d *= 2
			if d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// CPF finds the numbers of Brazil's registry of persons and names them CPF:
// eleven digits, also written as 000.000.000-00, of which the last two are right
// (modulo 11). A part of an identifier or of a longer number is none.
func CPF() []Pattern {
	return []Pattern{{
		Name: "CPF",
		Expr: `\b([0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}|[0-9]{9}-?[0-9]{2})\b(?:$|[^.-]|[.-](?:$|[^0-9]))|` +
			`[0-9]{1,32}(?:[.-][0-9]{1,32}){0,8}`, // another number, whole
		Check: isCPF,
		Group: 1,
	}}
}

// isCPF checks the last two digits. Those of eleven equal digits are right, but
// no such number is given out.
func isCPF(s string) bool {
	digits := digitsOf(s)
	if strings.Count(digits, digits[:1]) == len(digits) {
		return false
	}
	for n := 9; n <= 10; n++ {
		sum := 0
		for i := range n {
			sum += int(digits[i]-'0') * (n + 1 - i)
		}
		if sum*10%11%10 != int(digits[n]-'0') {
			return false
		}
	}
	return true
}

// digitsOf returns the digits of s, without what is between them.
func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && isDigit(byte(r)) {
			return r
		}
		return -1
	}, s)
}
