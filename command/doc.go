// Package command runs hook scripts that were written for Claude Code at the points
// of package hooks. It reads their settings file as it is:
//
//	{
//	  "hooks": {
//	    "PreToolUse": [
//	      {
//	        "matcher": "Bash",
//	        "hooks": [{"type": "command", "command": "./guard.sh", "timeout": 10}]
//	      }
//	    ]
//	  }
//	}
//
//	config, err := command.Load(file, command.ToolNames(map[string]string{"run_shell": "Bash"}))
//	if err != nil {
//		return err
//	}
//	scripts := config.Register()
//	defer scripts.Remove()
//
// What can't be honoured is an error of [Load], which tells the place in the file
// and what to do about it. Nothing is passed over in silence.
//
// # Events
//
//	event               where it runs
//	PreToolUse          PreToolCall: a hook (priority -500) for edits, a guard for the
//	                    verdict; PostToolCall: a hook that adds additionalContext
//	PostToolUse         PostToolCall, a hook: tools that ran and didn't fail
//	PostToolUseFailure  PostToolCall, a hook: tools that ran and failed
//	UserPromptSubmit    Input: a hook for added text, a guard for the verdict; the
//	                    inputs of sub-agents are prompts as well
//	SessionStart        ExecutionStart: the same, for outermost executions only
//	SessionEnd          ExecutionEnd: a watch, for outermost executions only
//	Stop                Output: a guard, where StopAborts is given
//
// Hooks can't make a loop go on, and so a Stop script that wants to can at most
// withhold the output: [StopAborts] says that this is meant. All other events,
// handlers that aren't of type "command", "async" and "if" are errors.
//
// Equal handlers run once for an event. Scripts run one after the other in the
// order of the file, each on what those before it have changed, and all of them run,
// whatever one says. The strictest answer counts, and of equal ones the first.
//
// # Matchers
//
// Only tool events have matchers. One that is absent, "" or "*" covers every tool.
// One of letters, digits, spaces and _ - , | is a list of names, divided by | or a
// comma, each of which covers a tool in any spelling ([hooks.MatchTool]), by the name
// that it has here or the one that [ToolNames] gives it. Anything else is a regular
// expression (RE2), which needn't match the whole name: it is tried on these two names
// and on what [hooks.SanitizeToolName] makes of the first.
//
// # What a script gets
//
// A script runs in [Dir], which is also in the variable CLAUDE_PROJECT_DIR, as an
// argument to [Shell]. On its standard input it reads one JSON object with
// session_id (the RootRunID), transcript_path (""), cwd, permission_mode ("default")
// and hook_event_name; for tools tool_name (of ToolNames), tool_input and tool_use_id,
// and behind them tool_response, the text that the model reads; and
//
//	PostToolUseFailure  error, is_interrupt (false)
//	UserPromptSubmit    prompt
//	SessionStart        source: "startup", or "resume" for a run that goes on
//	SessionEnd          reason: "other"
//	Stop                stop_hook_active (false), last_assistant_message if the output is text
//
// It has "timeout" seconds, fractions included: 600 by default, 30 for
// UserPromptSubmit, 1.5 for SessionEnd. On Unix it has a process group of its own,
// which is killed when the time is up, when ctx is done, when it writes more than
// 1 MiB to either output, and when it has ended: no background process is left, unless
// it has left the group, as setsid does. A background process that holds an output
// of the script keeps it waiting for at most two seconds. Elsewhere the script alone
// is killed. It isn't in the foreground of a terminal, and can't ask there.
//
// # What a script says
//
//	exit status 0       standard output that begins with { is an answer (see below);
//	                    else no opinion, and for UserPromptSubmit and SessionStart
//	                    the text is added to the prompt
//	exit status 2       block, and the reason is what it wrote to standard error
//	all else            a failure: another status, a signal, the timeout, too much
//	                    output, an answer that isn't exactly of the format
//
// The fields of an answer, whose names and values are exact:
//
//	continue            false stops the run, for the reason stopReason
//	decision, reason    "block"; for PreToolUse also "approve"
//	systemMessage       is logged, by slog.Default
//	suppressOutput      changes nothing: the output of scripts is never shown
//	hookSpecificOutput  with hookEventName, which must be the event's, and
//	  permissionDecision, permissionDecisionReason    of PreToolUse: "allow", "deny",
//	                                                  "ask" or "defer"
//	  updatedInput                                    of PreToolUse: the new arguments
//	  additionalContext                               is added to the result of the tool
//	                                                  or to the prompt
//
// "deny" and "block" refuse. "ask" and "defer" ask by [hooks.ToolCall.Ask], so they
// need a desk or a person. "allow" and "approve" say that the script has nothing
// against the call, and override nobody. Behind a tool nothing is left to refuse:
// the reason of a block is added to the result, and only "continue": false withholds
// it. Where there is text behind which an answer begins, or an unknown field in one,
// that is a failure; a verdict beside an unknown field that is stricter than "allow"
// counts all the same.
//
// A failure is logged, is in the event of the hook as a [*ScriptError], and lets
// pass what the script was asked about. With "onFailure": "block" beside its command,
// or with [FailClosed], it blocks for the reason "the hook script failed". What can't
// be shown to a script at all, as arguments that JSON can't hold, is refused.
//
// # What is asked twice
//
// PreToolUse and UserPromptSubmit scripts run in a hook, so that they can edit. The
// guard takes what they said, if it stands before the same tool with the same
// arguments, or the same prompt. If anything has changed them since (a hook behind,
// an edit by the person who was asked, an around hook), it asks the scripts again,
// and what they say then counts. As guards don't edit, an updatedInput that would
// change the arguments then refuses the call. The failures of this second asking are
// logged and are in no event.
package command
