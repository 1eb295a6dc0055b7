// The folder and its file.

package saved

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

const (
	fileName  = "run.json"
	temporary = ".run-*.tmp"
)

// Write saves r in folder dir, which is made if there is none, in place of what
// was saved of the same run. A reader finds what was there before or all of r,
// whatever happens in between: the file is written under another name, forced to
// the disk and renamed. The file can be read and written by its owner alone, and
// so must the folder be.
//
// It fails where others can read or write the folder, where the folder holds
// another run, which would be lost, where r can't be gone on with, and when it
// can't be written. Two processes must not go on with the same run at once.
func Write(dir string, r Run) error {
	raw, err := encode(r)
	if err != nil {
		return fmt.Errorf("the run can't be saved in %s: %w", path(dir), err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the folder for the run can't be made: %w", err)
	}
	before, err := Read(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case before.RunID != r.RunID:
		return fmt.Errorf("%s holds another run, %s, which isn't over; go on with that one, or give another folder", path(dir), before.RunID)
	}
	if err := WriteFile(path(dir), raw); err != nil {
		return fmt.Errorf("the run can't be saved in %s: %w", path(dir), err)
	}
	return nil
}

// Read returns the run that folder dir holds. It fails with an error that names
// the file: one that is [fs.ErrNotExist] where there is none, and another where
// others can read or write the folder, where the file was written by another
// version of this package, or where it holds anything that [Write] doesn't write.
func Read(dir string) (Run, error) {
	if err := private(dir); err != nil {
		return Run{}, fmt.Errorf("%s isn't read: %w", path(dir), err)
	}
	raw, err := os.ReadFile(path(dir))
	if err != nil {
		return Run{}, fmt.Errorf("no saved run: %w", err)
	}
	r, err := decode(raw)
	if err != nil {
		return Run{}, fmt.Errorf("%s can't be used: %w", path(dir), err)
	}
	return r, nil
}

// Remove removes the run with that ID, which has ended, from folder dir, and
// what writes that were interrupted have left there. The folder stays, and so
// does another run in it. It is no error if there is nothing to remove.
func Remove(dir, runID string) error {
	r, err := Read(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case r.RunID != runID:
		return nil
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		left, _ := filepath.Match(temporary, e.Name())
		if !left && e.Name() != fileName {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return syncFolder(dir) // else it might be there again, and be gone on with
}

func path(dir string) string { return filepath.Join(dir, fileName) }

// private says why a folder isn't for its owner alone.
func private(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err // of a folder that isn't there, too
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", dir)
	case runtime.GOOS == "windows":
		return nil // its modes say nothing of who may read
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("the folder %s is open to others (mode %04o); give one of mode 0700, or one that isn't there yet", dir, info.Mode().Perm())
	}
	return nil
}

// WriteFile writes a file of mode 0600 in place of the one there is, if there is
// one, whole or not at all. It is forced to the disk.
func WriteFile(name string, raw []byte) (err error) {
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, temporary)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(raw); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), name); err != nil {
		return err
	}
	return syncFolder(dir)
}

// syncFolder forces the new name to the disk.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // it can't be done there
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
