package saved

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const lockName = ".lock"

// errLocked says that another process has the lock.
var errLocked = errors.New("it is locked")

// Lock takes folder dir, which is made if there is none, for one process: nobody
// else begins a run in it or goes on with the one there is. It fails at once where
// another process has it, and where others than its owner can read or write the
// folder. The function that it returns gives the folder back.
//
// On Linux, macOS and the BSDs the lock ends with the process. On other systems it
// is that the file .lock could be made, and a process that is killed leaves it
// behind: the error says to remove it.
func Lock(dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder for the run can't be made: %w", err)
	}
	if err := private(dir); err != nil {
		return nil, fmt.Errorf("%s isn't used: %w", dir, err)
	}
	name := filepath.Join(dir, lockName)
	unlock, err = lockFile(name)
	switch {
	case errors.Is(err, errLocked):
		return nil, fmt.Errorf("another process is at the run in %s (%s); wait for its end%s", dir, name, lockHint)
	case err != nil:
		return nil, fmt.Errorf("%s can't be locked: %w", dir, err)
	}
	return unlock, nil
}
