// Package hooksmcp runs hooks around the tools of an MCP server or client that is
// built on github.com/modelcontextprotocol/go-sdk, version 1.8.0:
//
//	server.AddReceivingMiddleware(hooksmcp.Server())
//	client.AddSendingMiddleware(hooksmcp.Client(hooks.Caller{AgentRole: "Researcher"}))
//
// Hooks of [hooks.PreToolCall], [hooks.ToolBody] and [hooks.PostToolCall] see each call of
// a tool, and those of [ListTools], [ReadResource] and [GetPrompt] what their names say. A
// guard that asks ([hooks.ToolCall.Ask]) asks the user of the client.
//
// Not covered: notifications of progress and of logs, which a tool sends while it
// runs and which no hook redacts; resources, prompts and sampling but at those
// points; whether a tool exists; a call that is cancelled before it begins, which
// has no points.
//
// What a request can't be told of fails closed: one of another type than the method
// has, and a result with content that hooks couldn't judge.
package hooksmcp
