package main

import "encoding/json"

// schemas are those of the tools by which something happens.
var schemas = map[string]json.RawMessage{
	"book_room": json.RawMessage(`{
		"type": "object",
		"properties": {
			"room":  {"type": "string"},
			"seats": {"type": "integer", "minimum": 1, "maximum": 12}
		},
		"required": ["room", "seats"],
		"additionalProperties": false
	}`),
	"send_mail": json.RawMessage(`{
		"type": "object",
		"properties": {
			"to":      {"type": "string", "format": "email"},
			"subject": {"type": "string"}
		},
		"required": ["to", "subject"],
		"additionalProperties": false
	}`),
	"pay": json.RawMessage(`{
		"type": "object",
		"properties": {
			"to":     {"type": "string"},
			"amount": {"type": "integer", "minimum": 1, "maximum": 50000}
		},
		"required": ["to", "amount"],
		"additionalProperties": false
	}`),
}
