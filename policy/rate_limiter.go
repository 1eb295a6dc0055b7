package policy

// The arithmetic of Rate.

import (
	"container/heap"
	"math"
	"sync"
	"time"
)

// rateKey is what has a limit of its own.
type rateKey struct{ key, tool string }

// limiter is the generic cell rate algorithm: all that is kept of a key is the
// instant at which it has its whole burst again. A key without an entry has it.
// Instants are measured from the making of the limiter, by the monotonic clock, so
// that a clock that is set changes nothing.
type limiter struct {
	step, ahead time.Duration // of one call, and of a burst
	max         int
	began       time.Time

	mu      sync.Mutex
	buckets map[rateKey]*bucket // protected by mu
	soonest bucketHeap          // the same; the one that is full first stands in front
}

type bucket struct {
	key     rateKey
	instant time.Duration
	at      int // in the heap
}

func newLimiter(limit int, per time.Duration, burst, maxKeys int) *limiter {
	const ages = math.MaxInt64 / 4 // the sum of a few is a duration, too
	l := &limiter{step: min(per/time.Duration(limit), ages), ahead: ages, max: maxKeys, began: time.Now(), buckets: make(map[rateKey]*bucket)}
	if time.Duration(burst) <= ages/l.step {
		l.ahead = l.step * time.Duration(burst)
	}
	return l
}

// rateToken is what a call has taken: the instant that it set its key to.
type rateToken struct {
	key rateKey
	set time.Duration
}

// take takes a token of the key if the call has its turn within patience, and
// returns how long that is from now. Otherwise it takes nothing; known is false
// where there is no room for another key.
func (l *limiter) take(key rateKey, patience time.Duration) (t rateToken, wait time.Duration, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Since(l.began)
	l.forget(now)
	b := l.buckets[key]
	if b == nil && len(l.buckets) >= l.max {
		return rateToken{}, 0, false
	}
	instant := now
	if b != nil {
		instant = max(instant, b.instant)
	}
	instant = laterBy(instant, l.step)
	if wait = max(0, instant-now-l.ahead); wait > patience {
		return rateToken{}, wait, true
	}
	if b == nil {
		b = &bucket{key: key, instant: instant}
		l.buckets[key] = b
		heap.Push(&l.soonest, b)
	} else {
		l.move(b, instant)
	}
	return rateToken{key, instant}, wait, true
}

// giveBack returns a token that wasn't used. What time has given back of it since
// isn't given again.
func (l *limiter) giveBack(t rateToken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[t.key]
	if b == nil { // it is full
		return
	}
	if back := min(l.step, t.set-time.Since(l.began)); back > 0 {
		l.move(b, b.instant-back)
	}
}

// move sets the instant of a bucket. The caller holds mu.
func (l *limiter) move(b *bucket, instant time.Duration) {
	b.instant = instant
	heap.Fix(&l.soonest, b.at)
}

// forget drops keys that are full. Two at a time are enough to get rid of all, as
// each call of take makes one at most. The caller holds mu.
func (l *limiter) forget(now time.Duration) {
	for range 2 {
		if len(l.soonest) == 0 || l.soonest[0].instant > now {
			return
		}
		b := heap.Pop(&l.soonest).(*bucket)
		delete(l.buckets, b.key)
	}
}

// laterBy is t+d, or the end of time.
func laterBy(t, d time.Duration) time.Duration {
	if t > math.MaxInt64-d {
		return math.MaxInt64
	}
	return t + d
}

// bucketHeap is a [heap.Interface].
type bucketHeap []*bucket

func (h bucketHeap) Len() int           { return len(h) }
func (h bucketHeap) Less(i, j int) bool { return h[i].instant < h[j].instant }
func (h bucketHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push appends a *bucket.
func (h *bucketHeap) Push(b any) {
	b.(*bucket).at = len(*h)
	*h = append(*h, b.(*bucket))
}

// Pop takes the last one off.
func (h *bucketHeap) Pop() any {
	last := len(*h) - 1
	b := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return b
}
