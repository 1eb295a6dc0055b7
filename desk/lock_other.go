//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package desk

import "context"

// readUnlocked is false, since a file that is open may not be replaced.
const readUnlocked = false

func lockFolder(ctx context.Context, dir string) (unlock func() error, err error) {
	return holdFolder(ctx, dir)
}

// syncFolder does nothing: a folder can't be opened for that everywhere.
func syncFolder(string) error { return nil }
