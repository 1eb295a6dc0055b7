//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package saved

import (
	"errors"
	"os"
	"syscall"
)

// lockHint is empty: the lock ends with the process that has it.
const lockHint = ""

// lockFile takes flock(2) on the file. It stays when the lock ends: whoever
// removed it could remove one that another process has locked by then.
func lockFile(name string) (unlock func() error, err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return func() error {
			// A process that is being started has the file open for a moment, and
			// with it the lock, unless that is given up for all.
			return errors.Join(os.NewSyscallError("flock", syscall.Flock(int(f.Fd()), syscall.LOCK_UN)), f.Close())
		}, nil
	}
	_ = f.Close() // nothing was written
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, &os.PathError{Op: "flock", Path: name, Err: err}
}
