package chat

import "encoding/json"

// Request asks an endpoint for the next message of a conversation.
type Request struct {
	Model    string    `json:"model"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools,omitempty"`
}

// Message is one message of a conversation. Content is nil only in an
// assistant message that holds nothing but tool calls.
type Message struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content"`
	Name       string     `json:"name,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
}

// ToolCall is a call that the model asks for.
type ToolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function Function `json:"function"`
}

// Function names the function to call. Arguments is JSON as the model wrote
// it, which need not be valid.
type Function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Tool offers a function to the model.
type Tool struct {
	Type     string   `json:"type"`
	Function Describe `json:"function"`
}

// Describe tells the model what a function does. Parameters is the JSON Schema
// of its arguments.
type Describe struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// Reply is what the model said: text, tool calls, or both.
type Reply struct {
	Content      string
	ToolCalls    []ToolCall
	FinishReason string
	TokensIn     int
	TokensOut    int
}

// response is the body of a 200. Some proxies send an error with that status.
type response struct {
	Choices []struct {
		Message struct {
			Content   *string    `json:"content"`
			ToolCalls []ToolCall `json:"tool_calls"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage usage     `json:"usage"`
	Error *apiError `json:"error"`
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
}

type apiError struct {
	Message string `json:"message"`
}

// streamRequest asks for a reply in pieces, and for its usage behind them.
type streamRequest struct {
	Request
	Stream        bool          `json:"stream"`
	StreamOptions streamOptions `json:"stream_options"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// chunk is the data of one event of a stream. The one with the usage has no
// choices.
type chunk struct {
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content   string      `json:"content"`
			ToolCalls []callDelta `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage    `json:"usage"`
	Error *apiError `json:"error"`
}

// callDelta is a piece of a tool call. Index tells the calls of a reply apart;
// it is required by the format, and not every server sends it.
type callDelta struct {
	Index    *int     `json:"index"`
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function Function `json:"function"`
}
