package hooksopenai

// The roles of the two sides. What the SDK calls developer is a system message to
// hooks, and its deprecated function message is the result of a tool.

import "fmt"

const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// portableRoles has the library's word for each role of the wire.
var portableRoles = map[string]string{
	"system":    roleSystem,
	"developer": roleSystem,
	"user":      roleUser,
	"assistant": roleAssistant,
	"tool":      roleTool,
	"function":  roleTool,
}

func errRole(role string) error {
	return fmt.Errorf("hooksopenai: a message has the role %q; the roles are system, user, assistant and tool", role)
}
