//go:build race

package torture_test

// raceEnabled says that the race detector is on, which makes everything slower
// and allocate more.
const raceEnabled = true
