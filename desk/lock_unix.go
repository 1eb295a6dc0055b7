//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package desk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

const lockName = ".lock"

// readUnlocked says that a file which takes the place of another one does so at
// once for those who read, too.
const readUnlocked = true

// lockFolder takes flock(2) on the file .lock in dir. It belongs to the open file:
// two stores of one process exclude each other as well.
func lockFolder(ctx context.Context, dir string) (unlock func() error, err error) {
	path := filepath.Join(dir, lockName)
	for try := 0; ; try++ {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && isFile(f, path) {
			return func() error {
				// A process that is being started has the file open for a moment, and
				// with it the lock, unless that is given up for all.
				return errors.Join(os.NewSyscallError("flock", syscall.Flock(int(f.Fd()), syscall.LOCK_UN)), f.Close())
			}, nil
		}
		_ = f.Close() // nothing was written
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, &os.PathError{Op: "flock", Path: path, Err: err}
		}
		if err := pause(ctx, try); err != nil {
			return nil, err
		}
	}
}

// isFile says that f still has its name: else others lock another file.
func isFile(f *os.File, path string) bool {
	has, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(has, named)
}

// syncFolder has the names in dir on the disk when it returns.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
