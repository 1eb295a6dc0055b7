package policy

// Money and prices.

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/loophooks/hooks"
)

// Money is an amount in billionths of a dollar, so that sums are exact. It reaches
// about nine billion dollars; what is more stays there.
type Money int64

// USD returns an amount of dollars as Money, rounded to the nearest billionth. What
// is beyond the range of Money is its nearest end. USD panics on NaN.
func USD(dollars float64) Money {
	switch amount := math.Round(dollars * 1e9); {
	case math.IsNaN(amount):
		panic("policy: USD: the amount is not a number")
	case amount >= math.MaxInt64:
		return math.MaxInt64
	case amount <= math.MinInt64:
		return math.MinInt64
	default:
		return Money(amount)
	}
}

// Add returns the sum, or the end of the range of Money where it would be beyond.
func (m Money) Add(n Money) Money {
	switch sum := m + n; {
	case n > 0 && sum < m:
		return math.MaxInt64
	case n < 0 && sum > m:
		return math.MinInt64
	default:
		return sum
	}
}

// String returns the amount in dollars, with two decimals at least and no more than it
// needs: "$5.00", "$0.0126", "-$0.50".
func (m Money) String() string {
	sign, amount := "", uint64(m)
	if m < 0 {
		sign, amount = "-", -amount
	}
	decimals := strings.TrimRight(fmt.Sprintf("%09d", amount%1e9), "0")
	return fmt.Sprintf("%s$%d.%s", sign, amount/1e9, decimals+strings.Repeat("0", max(0, 2-len(decimals))))
}

// Price is what a model takes for a million tokens.
type Price struct {
	In, Out Money

	// CachedIn is for tokens that the provider had in its cache, and CacheWrite for
	// those that it wrote there; both are among the tokens of In. With 0 they cost as
	// much as the rest.
	CachedIn, CacheWrite Money
}

// Cost returns what the tokens cost, rounded up to the next billionth of a dollar;
// what is beyond the range of Money is its end. Negative counts and prices
// count as 0, and no more tokens are taken for cached, or written to the cache, than
// there are in In.
func (p Price) Cost(u hooks.Usage) Money {
	u = cleaned(u)
	written := min(u.CacheWrite, u.In-u.CachedIn)
	var sum product
	sum.add(u.In-u.CachedIn-written, p.In)
	sum.add(u.CachedIn, orAs(p.CachedIn, p.In))
	sum.add(written, orAs(p.CacheWrite, p.In))
	sum.add(u.Out, p.Out)
	return sum.perMillion()
}

func orAs(price, otherwise Money) Money {
	if price == 0 {
		return otherwise
	}
	return price
}

// check panics on a price that can't be meant.
func (p Price) check(policy, model string) {
	if p.In < 0 || p.Out < 0 || p.CachedIn < 0 || p.CacheWrite < 0 {
		panic(fmt.Sprintf("policy: %s: a price of the model %q is negative", policy, model))
	}
}

// product is a sum of products, of 128 bits: four of them can't overflow it.
type product struct{ hi, lo uint64 }

func (s *product) add(tokens int, price Money) {
	hi, lo := bits.Mul64(uint64(max(0, tokens)), uint64(max(0, price)))
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi, _ = bits.Add64(s.hi, hi, carry)
}

// perMillion divides by a million and rounds up.
func (s *product) perMillion() Money {
	const million = 1_000_000
	if s.hi >= million { // the quotient has more than 64 bits
		return math.MaxInt64
	}
	quotient, rest := bits.Div64(s.hi, s.lo, million)
	if rest > 0 && quotient < math.MaxInt64 {
		quotient++
	}
	return Money(min(quotient, math.MaxInt64))
}

// cleaned returns a usage as it is counted: nothing negative, and no part larger than
// the whole.
func cleaned(u hooks.Usage) hooks.Usage {
	for _, n := range [...]*int{&u.In, &u.Out, &u.CachedIn, &u.CacheWrite, &u.Reasoning} {
		*n = max(0, *n)
	}
	u.CachedIn = min(u.CachedIn, u.In)
	return u
}

// plus adds what isn't negative, and stays at the end of int.
func plus(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

// usageSum adds two usages that were cleaned.
func usageSum(a, b hooks.Usage) hooks.Usage {
	return hooks.Usage{
		In: plus(a.In, b.In), Out: plus(a.Out, b.Out), CachedIn: plus(a.CachedIn, b.CachedIn),
		CacheWrite: plus(a.CacheWrite, b.CacheWrite), Reasoning: plus(a.Reasoning, b.Reasoning),
	}
}
