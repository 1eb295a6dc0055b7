package redact_test

import "testing"

func TestMail(t *testing.T) {
	t.Parallel()
	run(t, everything, []found{
		{"two", "<ana.b+c@mail.example.com>, joão@exemplo.com.br", "<[EMAIL]>, [EMAIL]"},
		{"side by side", "a@b.cd,e@f.gh;mailto:i@j.kl", "[EMAIL],[EMAIL];mailto:[EMAIL]"},
		{"accents of their own", "write to jose\u0301@exemplo.com", "write to [EMAIL]"},
		{"behind another", "a@b.cd@e.fg", "[EMAIL]@e.fg"},

		{"mention", "@ana, react@18.2.0, a@b", ""},
		{"git", "git@github.com:loophooks/hooks.git", ""},
	})
}

func TestCards(t *testing.T) {
	t.Parallel()
	run(t, everything, []found{
		{"16 digits", "4111111111111111", "[CARD]"},
		{"dashes", "4111-1111-1111-1111", "[CARD]"},
		{"15 digits", "3782 822463 10005", "[CARD]"},
		{"13 digits", "4222222222222", "[CARD]"},
		{"19 digits", "6304000000000000000", "[CARD]"},
		{"among numbers", "2 4111 1111 1111 1111 12 29", "2 [CARD] 12 29"},
		{"behind a number", "12-4111111111111111", "12-[CARD]"},
		{"before a particle", "4111111111111111입니다", "[CARD]입니다"},
		{"at the end of a sentence", "It is 4111 1111 1111 1111. Thanks", "It is [CARD]. Thanks"},
		{"at the end of all", "It is 4111111111111111.", "It is [CARD]."},
		{"two", "4111111111111111 5555555555554444", "[CARD] [CARD]"},

		{"fails Luhn", "4111 1111 1111 1112", ""},
		{"too short", "411111111117", ""},
		{"too long", "41111111111111111115", ""},
		{"part of an identifier", "ORD4111111111111111, x_4111111111111111, 4111111111111111x", ""},
		{"decimals", "0.4111111111111111 4111 1111 1111 1111.5", ""},
		{"joined by letters", "4222222222222x6", ""},
		{"time in milliseconds", "1732955000002", ""},
		{"date and time", "2024-11-30 0830 1235", ""},
	})
}

func TestCPF(t *testing.T) {
	t.Parallel()
	run(t, everything, []found{
		{"with points", "CPF 529.982.247-25.", "CPF [CPF]."},
		{"bare", "52998224725", "[CPF]"},
		{"with a hyphen", "529982247-25, that", "[CPF], that"},
		{"check digit that would be 10", "12345600209 123.456.001-10", "[CPF] [CPF]"},
		{"before a particle", "52998224725는", "[CPF]는"},

		{"wrong digits", "529.982.247-26, 529.982.247-15, 52998224724", ""},
		{"equal digits", "111.111.111-11", ""},
		{"in a longer number", "152998224725, 1.529.982.247-25, 529982247-25-1", ""},
	})
}
