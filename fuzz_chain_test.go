package hooks_test

import (
	"math/rand/v2"
	"testing"

	"github.com/loophooks/hooks"
)

// fuzzChoices takes each decision from the next byte, and the first of what
// there is to choose from when there are no more.
type fuzzChoices []byte

func (b *fuzzChoices) IntN(n int) int {
	if len(*b) == 0 {
		return 0
	}
	choice := int((*b)[0]) % n
	*b = (*b)[1:]
	return choice
}

// fuzzRecorder takes decisions at random and keeps them as fuzzChoices.
type fuzzRecorder struct {
	rng   *rand.Rand
	bytes []byte
}

func (r *fuzzRecorder) IntN(n int) int {
	choice := r.rng.IntN(n)
	r.bytes = append(r.bytes, byte(choice))
	return choice
}

// FuzzChainOrder does the operations that the bytes say to the registries of a
// process and to the sequential model, and compares which hooks run, in which
// order, and what is listed and counted.
func FuzzChainOrder(f *testing.F) {
	hooks.SetLogger(nil)
	for seed := range uint64(4) {
		record := &fuzzRecorder{rng: rand.New(rand.NewPCG(seed, 0))}
		m := newMachine(f, true, record.IntN(2) == 1)
		for range 40 {
			m.step(record)
		}
		m.close()
		f.Add(record.bytes)
	}
	f.Fuzz(func(t *testing.T, operations []byte) {
		if len(operations) > 2000 {
			return // no kind of operation needs more
		}
		choose := fuzzChoices(operations)
		m := newMachine(t, true, choose.IntN(2) == 1)
		defer m.close()
		for len(choose) > 0 {
			m.step(&choose)
		}
		m.list()
	})
}
