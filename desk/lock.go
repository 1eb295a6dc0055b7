package desk

// A lock that needs nothing of the system but that of several processes one alone
// makes a file.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const heldName = ".held"

// heldFor is how long one holder of the lock may keep it, before those who wait
// give up. It is never taken from a holder: who knows that it lives?
const heldFor = 10 * time.Second

// holdFolder makes the file .held in dir, and waits as long as there is one. The
// function that it returns removes the file.
func holdFolder(ctx context.Context, dir string) (unlock func() error, err error) {
	path := filepath.Join(dir, heldName)
	var holder string
	var since time.Time
	for try := 0; ; try++ {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			// It tells people, and those who wait, that the holder is another one.
			_, _ = f.WriteString(strconv.Itoa(os.Getpid()) + " " + time.Now().UTC().Format(time.RFC3339Nano) + "\n")
			_ = f.Close()
			return func() error { return os.Remove(path) }, nil
		}
		// Where a file is being removed, some systems deny access to it.
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
		now, _ := os.ReadFile(path)
		if text := string(now); try == 0 || text != holder {
			holder, since = text, time.Now()
		}
		if time.Since(since) > heldFor {
			return nil, fmt.Errorf("%s is held by another process for more than %v; if that process has died, remove the file: %w", path, heldFor, err)
		}
		if err := pause(ctx, try); err != nil {
			return nil, err
		}
	}
}

// pause waits a little before the lock is tried again.
func pause(ctx context.Context, try int) error {
	timer := time.NewTimer(time.Duration(min(try+1, 10)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
