package policy

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLimiter_millionOtherKeys(t *testing.T) {
	t.Parallel()
	l := newLimiter(3, time.Hour, 3, 100_000)
	used := rateKey{"used", "x"}
	for range 3 {
		_, wait, known := l.take(used, 0)
		require.True(t, known && wait == 0)
	}
	for i := range 1_000_000 {
		l.take(rateKey{strconv.Itoa(i), "x"}, 0)
	}
	_, wait, known := l.take(used, 0)
	assert.True(t, known)
	assert.Positive(t, wait)
	assert.Len(t, l.buckets, 100_000)
}

func TestLimiter_forgetsWhatIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(10, 10*time.Second, 10, 1000)
		for i := range 100_000 {
			_, wait, known := l.take(rateKey{strconv.Itoa(i), "x"}, 0)
			require.True(t, known && wait == 0, i)
			time.Sleep(2 * time.Millisecond)
		}
		assert.LessOrEqual(t, len(l.buckets), 501)
	})
}

func TestLimiter_forgetsBehindAKeyThatIsBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(3, 3*time.Hour, 3, 2)
		l.take(rateKey{"busy", "x"}, 0)
		l.take(rateKey{"other", "x"}, 0)
		for range 2 {
			l.take(rateKey{"busy", "x"}, 0)
		}
		time.Sleep(time.Hour)
		_, _, known := l.take(rateKey{"new", "x"}, 0)
		assert.True(t, known)
	})
}

// However calls come, wait, are refused behind the limit and give their tokens back,
// those that keep theirs are never more than the burst and what time has added.
func TestLimiter_givingBackEarnsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(300) {
			random := rand.New(rand.NewPCG(seed, 1))
			const step, burst = 10 * time.Second, 5
			l := newLimiter(6, time.Minute, burst, 10)
			key := rateKey{"k", "x"}
			start := time.Now()
			var pending []rateToken
			kept := 0
			for range 400 {
				switch random.IntN(4) {
				case 0:
					time.Sleep(time.Duration(random.Int64N(int64(30 * time.Second))))
				case 1:
					if n := len(pending); n > 0 {
						at := random.IntN(n)
						l.giveBack(pending[at])
						pending = append(pending[:at], pending[at+1:]...)
					}
				default:
					tok, wait, _ := l.take(key, 0)
					if wait > 0 {
						continue
					}
					if random.IntN(2) == 0 {
						pending = append(pending, tok)
					} else {
						kept++
					}
				}
				allowed := burst + float64(time.Since(start))/float64(step)
				require.LessOrEqual(t, float64(kept), allowed+1, seed)
			}
		}
	})
}

func TestLimiter_giveBackOfAKeyThatIsNew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1, time.Second, 1, 10)
		key := rateKey{"k", "x"}
		old, _, _ := l.take(key, 0)
		time.Sleep(time.Minute)
		_, wait, _ := l.take(key, 0)
		require.Zero(t, wait)
		l.giveBack(old)
		_, wait, _ = l.take(key, 0)
		assert.Equal(t, time.Second, wait)
	})
}
