package hooksmcp

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// The sleeps of this file stand inside of synctest: the time is that of the bubble, and
// nobody waits.

func TestRounds_areUsedOnceAndExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s rounds
		first, second := s.keep(&round{}), s.keep(&round{})
		assert.NotEqual(t, first, second)
		_, ok := s.take(first)
		assert.True(t, ok)
		_, ok = s.take(first)
		assert.False(t, ok)
		time.Sleep(keptFor)
		_, ok = s.take(second)
		assert.False(t, ok)
	})
}

func TestRounds_oldestAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s rounds
		for i := range maxKept + 1 {
			s.put(strconv.Itoa(i), &round{})
			time.Sleep(time.Millisecond)
		}
		assert.Len(t, s.kept, maxKept)
		_, ok := s.take("0")
		assert.False(t, ok)
		_, ok = s.take("1")
		assert.True(t, ok)
		time.Sleep(keptFor)
		for i := range maxKept {
			s.put("later"+strconv.Itoa(i), &round{})
		}
		_, ok = s.take("2")
		assert.False(t, ok, "what has expired makes room")
		assert.Len(t, s.kept, maxKept)
	})
}
