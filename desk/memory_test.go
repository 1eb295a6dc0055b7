package desk_test

import (
	"testing"

	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/desk/desktest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	desktest.Run(t, func(*testing.T) desk.Store { return desk.Memory() })
}
