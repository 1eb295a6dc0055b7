package policy_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUSD(t *testing.T) {
	t.Parallel()
	assert.Equal(t, policy.Money(5_000_000_000), policy.USD(5))
	assert.Equal(t, policy.Money(10_000_000), policy.USD(0.01))
	assert.Equal(t, policy.Money(100_000_000), policy.USD(0.1))
	assert.Equal(t, policy.Money(-250_000_000), policy.USD(-0.25))
	assert.Equal(t, policy.Money(0), policy.USD(1e-10))
	assert.Equal(t, policy.Money(math.MaxInt64), policy.USD(1e10))
	assert.Equal(t, policy.Money(math.MaxInt64), policy.USD(math.Inf(1)))
	assert.Equal(t, policy.Money(math.MinInt64), policy.USD(math.Inf(-1)))
	assert.Panics(t, func() { policy.USD(math.NaN()) })
}

func TestMoney_string(t *testing.T) {
	t.Parallel()
	for m, want := range map[policy.Money]string{
		0: "$0.00", 5_000_000_000: "$5.00", 12_600_000: "$0.0126", 500_000_000: "$0.50", 1: "$0.000000001",
		-500_000_000: "-$0.50", 1_234_567_890_123_456_789: "$1234567890.123456789",
		math.MaxInt64: "$9223372036.854775807", math.MinInt64: "-$9223372036.854775808",
	} {
		assert.Equal(t, want, m.String())
	}
}

func TestMoney_addStaysInRange(t *testing.T) {
	t.Parallel()
	const most, least = policy.Money(math.MaxInt64), policy.Money(math.MinInt64)
	assert.Equal(t, policy.Money(5), policy.Money(2).Add(3))
	assert.Equal(t, policy.Money(-1), policy.Money(2).Add(-3))
	assert.Equal(t, most, most.Add(1))
	assert.Equal(t, most, most.Add(most))
	assert.Equal(t, least, least.Add(-1))
	assert.Equal(t, policy.Money(-1), most.Add(least))
}

func TestPrice_cost(t *testing.T) {
	t.Parallel()
	full := policy.Price{In: 3_000_000, Out: 15_000_000, CachedIn: 300_000, CacheWrite: 3_750_000}
	plain := policy.Price{In: 3_000_000, Out: 15_000_000}
	for name, tt := range map[string]struct {
		price policy.Price
		usage hooks.Usage
		want  policy.Money
	}{
		"nothing":                          {full, hooks.Usage{}, 0},
		"in and out":                       {plain, hooks.Usage{In: 10, Out: 2}, 60},
		"cached":                           {full, hooks.Usage{In: 100, CachedIn: 40, Out: 1}, 60*3 + 12 + 15},
		"cached at the price of the rest":  {plain, hooks.Usage{In: 100, CachedIn: 40}, 300},
		"written to the cache":             {full, hooks.Usage{In: 100, CacheWrite: 40}, 60*3 + 150},
		"written at the price of the rest": {plain, hooks.Usage{In: 100, CacheWrite: 40}, 300},
		"cached and written":               {full, hooks.Usage{In: 100, CachedIn: 40, CacheWrite: 80}, 12 + 225},
		"more cached than there is":        {full, hooks.Usage{In: 10, CachedIn: 40}, 3},
		"reasoning is part of out":         {plain, hooks.Usage{Out: 2, Reasoning: 2}, 30},
		"negative":                         {full, hooks.Usage{In: -1, Out: -5, CachedIn: -3, CacheWrite: -9}, 0},
		"negative price":                   {policy.Price{In: -5, Out: 1_000_000}, hooks.Usage{In: 9, Out: 1}, 1},
		"rounded up":                       {policy.Price{In: 1}, hooks.Usage{In: 1}, 1},
		"rounded up once":                  {policy.Price{In: 1, Out: 1}, hooks.Usage{In: 400_000, Out: 600_001}, 2},
		"not rounded where it is whole":    {policy.Price{In: 1, Out: 1}, hooks.Usage{In: 400_000, Out: 600_000}, 1},
		"saturated":                        {policy.Price{In: math.MaxInt64, Out: math.MaxInt64}, hooks.Usage{In: math.MaxInt, Out: math.MaxInt}, math.MaxInt64},
		"saturated below 64 bits":          {policy.Price{In: math.MaxInt64}, hooks.Usage{In: 1_000_001}, math.MaxInt64},
		"as much as there is":              {policy.Price{In: math.MaxInt64}, hooks.Usage{In: 1_000_000}, math.MaxInt64},
		"large":                            {policy.Price{In: policy.USD(1e9)}, hooks.Usage{In: 9_000_000}, policy.USD(9e9)},
	} {
		assert.Equal(t, tt.want, tt.price.Cost(tt.usage), name)
	}
}

// What it costs is what arithmetic without bounds says.
func TestPrice_costIsExact(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	number := func() int64 { return random.Int64() >> random.IntN(64) }
	for range 20_000 {
		p := policy.Price{In: policy.Money(number()), Out: policy.Money(number()), CachedIn: policy.Money(number() | 1)}
		u := hooks.Usage{In: int(number()), Out: int(number())}
		u.CachedIn = u.In / 3
		sum := new(big.Int)
		for _, f := range [][2]int64{{int64(u.In - u.CachedIn), int64(p.In)}, {int64(u.CachedIn), int64(p.CachedIn)}, {int64(u.Out), int64(p.Out)}} {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(f[0]), big.NewInt(f[1])))
		}
		sum.Add(sum, big.NewInt(999_999)).Div(sum, big.NewInt(1_000_000))
		want := policy.Money(math.MaxInt64)
		if sum.IsInt64() {
			want = policy.Money(sum.Int64())
		}
		require.Equal(t, want, p.Cost(u), "%+v of %+v", p, u)
	}
}
