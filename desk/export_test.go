package desk

// BeforeRename has a store that File has made call f while a record is written, but
// not in its place.
func BeforeRename(s Store, f func()) { s.(*fileStore).beforeRename = f }

// WithFileLock makes a store that File has made use the lock of systems without
// flock(2).
func WithFileLock(s Store) Store {
	s.(*fileStore).lock = holdFolder
	return s
}
