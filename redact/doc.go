// Package redact finds secrets and personal data in text and replaces them,
// whether the text is there as a whole or comes in pieces, as a model streams it.
//
//	var secrets = redact.MustCompile(slices.Concat(redact.Keys(), redact.Mail())...)
//
//	clean := secrets.Replace(text, func(name, _ string) string { return "[" + name + "]" })
//
// [Set.ReplaceParts] does it for a text in several parts, and [Stream] for what is
// streamed through hooks, before anybody is shown it.
//
// A stream filter sees what is streamed, and nothing else: an answer that a loop
// gets as a whole needs a hook at [hooks.PostModelCall] too. Registered with
// [hooks.AfterShown], that doesn't hold the stream back; see the example of Stream.
//
// # What is found
//
// A [Pattern] is a regular expression with a name, and perhaps a check and a
// group. [Keys], [Mail], [Cards] and [CPF] return the patterns that the package
// knows, [Literals] those for values that a program knows; [Compile] makes one
// [Set] of any of them, which looks for all at once.
//
// Patterns find what looks like a secret. They don't find a password in a
// sentence, a key of an issuer that they don't know, nor what was encoded,
// translated or spelled out: a model that is asked for every second letter of a
// key gives it away. What must not get out isn't given to a model.
//
// # What is guaranteed
//
// The matches are those of package regexp for one expression with the patterns
// as alternatives: the leftmost, then the first pattern given, then what its
// expression prefers. Assertions such as \b and $ see what is around a match,
// and bytes that aren't UTF-8 are read as U+FFFD and shown as they are. On that
// stand three rules, for what an expression can't say:
//
//   - A match whose Check fails doesn't count. Other patterns are tried at its
//     beginning, and its own from its second rune on.
//   - Of a pattern with a Group, that is replaced, and the search goes on
//     behind it.
//   - A match without its group hides its stretch of text from its pattern.
//
// A text is redacted alike however it came: [Set.Replace] runs the machine that
// runs over the pieces of a stream, and no cut changes what is shown. Of a
// stream no more is held back than what may be the beginning of a match: of
// English prose in pieces of four bytes, 0.2 bytes on average with the patterns
// of Keys, and 3 with those of Mail and Cards besides (BenchmarkPieces).
//
// A match has a bound, 4,096 bytes unless a stream was given another, since what
// isn't decided can't be shown, and must not pile up. What reaches it counts as
// a match, of the pattern that was most preferred so far: it is replaced, and
// what belongs to it further on is left out, however long it is. This errs on
// the side of what isn't shown. So an expression should say where a match ends,
// and count what it repeats: a.*b takes all of a line that has an a in it, if
// the line is long enough.
//
// # What it costs
//
// Where nothing is found nothing is allocated, neither for a text nor for a
// piece. Bytes that can't begin a match are skipped by a table, and time is in
// proportion to the text for all patterns of this package. It is between ten and
// several hundred times less than what package regexp takes for the same
// expressions (TestCost_noMoreThanRegexp), which can't be given a text in pieces
// at all.
// Own patterns can do worse: with a Check that fails or a Group that ends before
// the match does, the rest of the match is read again, up to the bound.
package redact
