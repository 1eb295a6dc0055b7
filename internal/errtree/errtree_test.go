package errtree

// Trees of errors that somebody else made: whose methods panic, circle, lie or
// can't be compared.

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
)

var (
	errTarget = errors.New("target")
	errOther  = errors.New("other")
)

// odd is an error whose methods do as they are told.
type odd struct {
	unwrap func() error
	is     func(error) bool
	text   func() string
}

func (e *odd) Error() string {
	if e.text != nil {
		return e.text()
	}
	return "odd"
}

func (e *odd) Unwrap() error {
	if e.unwrap != nil {
		return e.unwrap()
	}
	return nil
}

func (e *odd) Is(target error) bool { return e.is != nil && e.is(target) }

// listing is an error that == can't compare.
type listing []error

func (listing) Error() string     { return "listing" }
func (l listing) Unwrap() []error { return l }

// circle wraps itself, and twins join themselves.
type circle struct{}

func (circle) Error() string   { return "circle" }
func (c circle) Unwrap() error { return c }

type twins struct{}

func (twins) Error() string     { return "twins" }
func (t twins) Unwrap() []error { return []error{t, t} }

// bad is an error all of whose methods panic.
type bad struct{}

func (bad) Error() string { panic("bad") }
func (bad) Unwrap() error { panic("bad") }
func (bad) Is(error) bool { panic("bad") }
func (bad) As(any) bool   { panic("bad") }

type wanted struct{ n int }

func (*wanted) Error() string { return "wanted" }

func TestIsAndHas(t *testing.T) {
	t.Parallel()
	liar := &odd{is: func(error) bool { return true }}
	claims := &odd{is: func(err error) bool { return same(err, errTarget) }}
	for name, tt := range map[string]struct {
		err     error
		is, has bool
	}{
		"nil":                    {nil, false, false},
		"itself":                 {errTarget, true, true},
		"another":                {errOther, false, false},
		"wrapped":                {fmt.Errorf("a: %w", errTarget), true, true},
		"wrapped twice":          {fmt.Errorf("a: %w", fmt.Errorf("b: %w", errTarget)), true, true},
		"joined":                 {errors.Join(errOther, errTarget), true, true},
		"joined in what wraps":   {fmt.Errorf("%w, %w", io.EOF, errors.Join(errOther, errTarget)), true, true},
		"says so":                {claims, true, false},
		"says so of all":         {liar, true, false},
		"says so, wrapped":       {fmt.Errorf("a: %w", liar), true, false},
		"says so, and is beside": {errors.Join(liar, errTarget), true, true},
		"behind what panics":     {errors.Join(bad{}, errTarget), true, true},
		"behind two that panic":  {errors.Join(bad{}, errors.Join(bad{}, errTarget)), true, true},
		"panics":                 {bad{}, false, false},
		"an Is that panics":      {&odd{is: func(error) bool { panic("bad") }, unwrap: func() error { return errTarget }}, true, true},
		"a circle":               {circle{}, false, false},
		"twins":                  {twins{}, false, false},
		"in front of a circle":   {errors.Join(errTarget, circle{}), true, true},
		"in front of twins":      {errors.Join(errTarget, twins{}), true, true},
		"not to be compared":     {listing{errOther, nil, errTarget}, true, true},
		"a typed nil":            {(*odd)(nil), false, false},
		"beside a typed nil":     {errors.Join((*odd)(nil), errTarget), true, true},
	} {
		assert.Equal(t, tt.is, Is(tt.err, errTarget), "Is: "+name)
		assert.Equal(t, tt.has, Has(tt.err, errTarget), "Has: "+name)
	}
	assert.False(t, Has(listing{}, listing{}), "what can't be compared is not the same")
	assert.False(t, Is(listing{}, listing{}))
	assert.False(t, Has(nil, nil))
}

func TestFind(t *testing.T) {
	t.Parallel()
	first, second := &wanted{1}, &wanted{2}
	for name, tt := range map[string]struct {
		err  error
		want *wanted
	}{
		"nil":                {nil, nil},
		"itself":             {first, first},
		"none":               {errOther, nil},
		"the first":          {errors.Join(errOther, fmt.Errorf("a: %w", first), second), first},
		"depth first":        {errors.Join(errors.Join(errOther, first), second), first},
		"behind what panics": {errors.Join(bad{}, second), second},
		"a circle":           {circle{}, nil},
	} {
		got, ok := Find[*wanted](tt.err)
		assert.Equal(t, tt.want != nil, ok, name)
		assert.Same(t, tt.want, got, name)
	}
}

// A walk looks at each error in the order of errors.Is, and at a bounded number.
func TestWalk(t *testing.T) {
	t.Parallel()
	var seen []string
	note := func(err error) bool { seen = append(seen, Text(err)); return false }
	assert.False(t, Walk(fmt.Errorf("%w %w", fmt.Errorf("a: %w", errTarget), listing{bad{}, errOther}), note))
	assert.Equal(t, []string{"a: target listing", "a: target", "target", "listing", "", "other"}, seen)
	for _, err := range []error{circle{}, twins{}, errors.Join(twins{}, circle{})} {
		n := 0
		assert.False(t, Walk(err, func(error) bool { n++; return false }))
		assert.Equal(t, maxErrors, n)
	}
	assert.False(t, Walk(nil, func(error) bool { return true }))
	assert.True(t, Walk(errors.Join(errOther, errTarget), func(err error) bool {
		if !same(err, errTarget) {
			panic("what a visit panics with counts as no")
		}
		return true
	}))
}

func TestText(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "target", Text(errTarget))
	assert.Empty(t, Text(nil))
	assert.Empty(t, Text(bad{}))
	assert.Empty(t, Text((*odd)(nil)), "a nil receiver")
	assert.Empty(t, Text(errors.Join(errOther, bad{})))
}

// What a closed error wraps is left out, what is joined beside it isn't, and a
// panic of the question closes nothing.
func TestWalkOutside(t *testing.T) {
	t.Parallel()
	closed := fmt.Errorf("closed: %w", errTarget)
	isClosed := func(err error) bool { return err.Error() == "closed: target" }
	for name, tt := range map[string]struct {
		err  error
		ask  func(error) bool
		want []error
	}{
		"nil":       {nil, isClosed, nil},
		"open":      {fmt.Errorf("open: %w", errTarget), isClosed, []error{errTarget}},
		"closed":    {closed, isClosed, nil},
		"beside it": {errors.Join(closed, errOther, closed, errTarget), isClosed, []error{errOther, errTarget}},
		"a panic":   {closed, func(error) bool { panic("bug") }, []error{errTarget}},
	} {
		var visited []error
		assert.False(t, WalkOutside(tt.err, tt.ask, func(err error) bool {
			if err == errTarget || err == errOther {
				visited = append(visited, err)
			}
			return false
		}), name)
		assert.Equal(t, tt.want, visited, name)
	}
	assert.True(t, WalkOutside(closed, isClosed, isClosed), "it is visited itself")
}
