//go:build !race

// Package race says whether the race detector is on, which makes everything
// slower and allocate more.
package race

// Enabled says that the race detector is on.
const Enabled = false
