//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package saved

import (
	"errors"
	"io/fs"
	"os"
)

const lockHint = ", or remove that file if the process has died"

// lockFile makes the file, which one process alone can.
func lockFile(name string) (unlock func() error, err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, errLocked
	}
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return func() error { return os.Remove(name) }, nil
}
