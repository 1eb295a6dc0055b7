package hooks

// What a dispatch is about, and which hooks that concerns, by tool and by role.
// When two names are one tool's is told by internal/toolname, which folds them.

import (
	"log/slog"
	"slices"

	"github.com/loophooks/hooks/internal/toolname"
)

type toolFilter = toolname.Filter

func newToolFilter(entries []string) *toolFilter { return toolname.NewFilter(entries...) }

// toolOf returns the name of the tool that c is about, "" for none. The type
// of this package comes first, since it needs no dynamic look-up.
func toolOf(c any) string {
	switch c := c.(type) {
	case *ToolCall:
		return c.Name
	case toolNamer:
		return c.ToolName()
	}
	return ""
}

// roleOf returns the role of the agent that c is about, "" for none.
func roleOf(c any) string {
	switch c := c.(type) {
	case *ToolCall:
		return c.AgentRole
	case *ModelCall:
		return c.AgentRole
	case roleNamer:
		return c.AgentRoleName()
	}
	return ""
}

// identity is what filters look at.
type identity struct{ tool, role string }

// identify returns what c is about, as far as hooks can filter by it. Methods
// of a framework's own context may panic.
func identify(p *point, c any) (id identity, failure *PanicError) {
	switch c := c.(type) {
	case *ToolCall:
		return identity{c.Name, c.AgentRole}, nil
	case *ModelCall:
		return identity{role: c.AgentRole}, nil
	}
	if !p.hasTool && !p.hasRole {
		return id, nil
	}
	return identifyOther(p, c)
}

func identifyOther(p *point, c any) (id identity, failure *PanicError) {
	var r recovery
	func() {
		defer r.catch()
		if p.hasTool {
			id.tool = toolOf(c)
		}
		if p.hasRole {
			id.role = roleOf(c)
		}
		r.returned = true
	}()
	return id, r.panicked
}

// subject is what a dispatch is about. Hooks go by the identity at the start of
// the dispatch. Guards and watches go by all that the call has had, name and
// role each on its own, since what they look at is what will really run, and a
// hook must not pass a call by them by giving it another name.
type subject struct {
	set   bool
	tool  toolname.Name // the first
	role  string
	tools []*toolname.Name // the others, which few calls have
	roles []string
}

// also adds an identity, unless it is known.
func (s *subject) also(id identity) {
	if !s.set {
		s.set, s.tool, s.role = true, toolname.Parse(id.tool), id.role
		return
	}
	if id.tool != s.tool.Raw() && !slices.ContainsFunc(s.tools, func(n *toolname.Name) bool { return n.Raw() == id.tool }) {
		n := toolname.Parse(id.tool)
		s.tools = append(s.tools, &n)
	}
	if id.role != s.role && !slices.Contains(s.roles, id.role) {
		s.roles = append(s.roles, id.role)
	}
}

// matches says whether the filters that a lane's index doesn't cover let h run.
func (s *subject) matches(h *hook) bool {
	return s.matchesRole(h) && s.matchesPattern(h)
}

func (s *subject) matchesRole(h *hook) bool {
	if !h.hasAgents {
		return true
	}
	admits := func(role string) bool { return role == "" || slices.Contains(h.reg.agents, role) }
	return admits(s.role) || slices.ContainsFunc(s.roles, admits)
}

func (s *subject) matchesPattern(h *hook) bool {
	if h.tools == nil || len(h.tools.Patterns()) == 0 {
		return true
	}
	return h.tools.Match(&s.tool) || slices.ContainsFunc(s.tools, h.tools.Match)
}

// filtering says whether some hook of the chain looks at tools or roles.
func (ch *chain) filtering() bool {
	for _, l := range [...]*lane{&ch.main, &ch.guards, &ch.watches} {
		if l.filtersTools || l.picky {
			return true
		}
	}
	return false
}

// unidentified deals with a context whose ToolName or AgentRoleName panicked.
// Which hooks concern it can't be told: where a guard filters, it fails closed.
func unidentified(r *round, failure *PanicError) *HookAborted {
	for i := range r.n {
		for _, h := range r.chain(i).hooks {
			if h.failClosed && (h.tools != nil || h.hasAgents) {
				return (&HookAborted{Reason: "what the call is about could not be read", Err: failure}).at(r.p, h)
			}
		}
	}
	logError(r.ctx, "hooks: a context's ToolName or AgentRoleName panicked", failure, slog.String("point", string(r.p.name)))
	return nil
}

// SanitizeToolName returns the form of a tool name that every model provider
// accepts: "Delete File", "deleteFile" and "delete-file" all give
// "delete_file". It is for what is offered to a model; [MatchTool] tells
// whether two names are one tool's.
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

// FoldToolName returns the folded form of a tool name, in which [MatchTool] compares
// plain names: what is kept for each tool belongs under it, so that another spelling
// is the same key. The form that [SanitizeToolName] makes of a name which it can't
// write is another key, since the name can't be told from it. FoldToolName never
// fails, and is safe for concurrent use.
func FoldToolName(name string) string { return toolname.Fold(name) }

// MatchTool reports whether an entry of [WithTools] covers the tool called
// name. An entry with "*" or "?" in it is a pattern, another one a plain name.
//
// Names are compared in their folded form: Unicode NFKC, without case (ß is ss)
// and quotes, "aB" and "ABCd" divided into words, each run of _ - . / : and
// white space one "_", none at the ends. Letters, digits and other characters of
// every script are kept, and no name is shortened. Letters that only look alike,
// such as Latin and Cyrillic a, are different. A name is also the same as what
// [SanitizeToolName] makes of it, if that holds a hash.
//
// In a pattern "*" is any run of characters, "/" and the empty run included, and
// "?" is exactly one. It is tried on the name as it is written, on its folded
// form, and on that without the division into words. Its literal parts are
// folded in both ways as well, where a separator beside a wildcard stays one
// "_"; it covers one at an end of the name too, and two of them are one where a
// "*" between them stands for nothing. At the ends of a pattern separators are
// dropped, unless nothing else of the literal would be left: then only the name
// as it is written is tried.
//
//	entry              covers                                     but not
//	delete_file        Delete File, deleteFile, DELETE-FILE       deletefile, delete_files
//	search             Search                                     search_天气
//	Straße             STRASSE, strasse                           strase
//	日本語             tool_77710aed                              tool
//	delete_*           deleteFile, DELETE-ファイル                undelete_file, delete
//	Delete*            delete_file, DELETE, deletefile            undelete
//	read_*             read_file, readMe                          ready_to_delete
//	*delete_file       mcp__ws__DeleteFile, of any length         delete_files
//	*__delete_*        mcp__crm__delete_x, __Delete_x             delete_x
//	github*            GitHub/delete, github_delete               git_hub_delete
//	mcp__*__delete_*   mcp__crm__deleteContact, mcp____Delete_x   mcp__crm__undelete
//	get?               getX                                       getXY, get_x
//	_*                 _private                                   delete_file
//
// A call under the sanitised form of a long or unreadable name holds a hash in
// place of the name, and a pattern can't see through that. MatchTool compiles
// the entry each time. It is safe for concurrent use.
func MatchTool(pattern, name string) bool { return toolname.Match(pattern, name) }
