package hooks

import "github.com/loophooks/hooks/internal/toolname"

// SanitizeToolName returns the normalised form of a tool name, the one under
// which [WithTools] compares names that differ in spelling only: "Delete File",
// "deleteFile" and "delete-file" all give "delete_file".
//
// The name is decomposed (Unicode NFKD) and stripped of everything that isn't
// ASCII; "ABCWord" becomes "ABC_Word" and "aB" becomes "a_B"; letters are
// lower-cased, quotes ' and " deleted, each run of other characters becomes one
// "_", and "_" at either end is trimmed. A form of more than 64 bytes is cut to
// 55, trimmed of "_" on the right, and gets "_" and the first 8 hex digits of
// the SHA-256 of the long form. A name of which nothing is left, such as one in
// Japanese, becomes "tool_" and 8 hex digits of the SHA-256 of the name itself.
//
// The result is never empty, at most 64 bytes of a-z, 0-9 and "_", and is its
// own normalised form. Any string is accepted, invalid UTF-8 included. A name
// that is normalised already is returned as it is, without allocating. It is
// safe for concurrent use.
func SanitizeToolName(name string) string { return toolname.Sanitize(name) }

func normalizeToolName(name string) (normalized string, ok bool) { return toolname.Normalize(name) }

func isPattern(name string) bool { return toolname.IsPattern(name) }

func matchGlob(pattern, name string) bool { return toolname.MatchGlob(pattern, name) }
