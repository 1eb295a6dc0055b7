//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package policy

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// lockFile takes flock(2) on an open file, until unlockFile or its end. It belongs to the
// open file, so that two logs of one process exclude each other as well.
func lockFile(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errors.New("it is open already, here or in another process")
		case !errors.Is(err, syscall.EINTR):
			return os.NewSyscallError("flock", err)
		}
	}
}

// unlockFile ends the lock. A process that is being started has the file open for a
// moment, and with it the lock, unless that is given up for all.
func unlockFile(f *os.File) error {
	return os.NewSyscallError("flock", syscall.Flock(int(f.Fd()), syscall.LOCK_UN))
}

// syncDir has the names in dir on the disk when it returns, as far as the process may
// read it.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	err = f.Sync()
	if err != nil && unsupported(err) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
