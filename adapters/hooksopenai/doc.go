// Package hooksopenai runs hooks around the calls of the OpenAI SDK for Go
// (github.com/openai/openai-go/v3) and around the tools that its models ask for.
//
// The SDK has no loop: a program sends a conversation, runs the tools that the
// reply asks for, and sends it again. For a program that does so already, two calls
// are enough. [Complete] makes a hooked model call in the place of
// client.Chat.Completions.New or NewStreaming, and [Calls] gives the tool calls of
// its reply to hooks.RunTools. [Message] and [Native] convert between the SDK's
// messages and those that hooks edit.
//
// For a program that has no loop yet there is [Loop]: turns, tools that run beside
// each other, answers that are shown as they come, and runs that wait for a decision
// and go on later, in another process too. Its [State] is plain data.
//
// # What hooks see
//
// The text of an answer is in Response, a refusal of the model included, so that a
// hook that redacts m.Response misses nothing that people read. Reasoning that
// some compatible servers send is in Parts. Of several choices the first is the
// answer, and the others are left out. The text that a model writes for a custom
// tool is call.Input["input"].
//
// Request is the [openai.ChatCompletionNewParams] of the call without its messages,
// which are in Messages; [RequestKey] tells two of them apart for a cache. Hooks
// can't see what the provider does by itself: its retries inside one call, which the
// SDK makes, and tools that it hosts. Nor do they see definitions of tools,
// predictions and response formats, which are sent as the program gives them.
//
// # What isn't recognised
//
// Nothing is sent or run that hooks could not look at: parameters that replace what
// hooks have seen ([param.Override], extra fields such as "messages"), deprecated
// functions, tools of a kind that isn't known, and replies with such a call are
// errors. So is a stream that ends before the reply does.
package hooksopenai
