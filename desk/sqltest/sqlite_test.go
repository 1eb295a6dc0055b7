package sqltest

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/desk/desktest"
)

// sqliteSettings have a process wait for the lock of another one; see the comment
// of desk.SQL. Without them parallel updates fail with SQLITE_BUSY.
const sqliteSettings = "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_txlock=immediate"

// openSQL returns the store in a database, with its table made.
func openSQL(t *testing.T, driver, source string) (*sql.DB, *desk.SQLStore) {
	t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // a test may have closed it
	s := desk.SQL(db)
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db, s
}

func sqlitePlace(t *testing.T) string {
	t.Helper()
	return "file:" + filepath.ToSlash(filepath.Join(t.TempDir(), "desk.db")) + sqliteSettings
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	desktest.Run(t, func(t *testing.T) desk.Store {
		_, s := openSQL(t, "sqlite", sqlitePlace(t))
		return s
	})
}

func TestSQLite_oneConnection(t *testing.T) {
	t.Parallel()
	desktest.Run(t, func(t *testing.T) desk.Store {
		db, s := openSQL(t, "sqlite", sqlitePlace(t))
		db.SetMaxOpenConns(1) // what holds on to one has all else wait
		return s
	})
}

func TestSQLite_killed(t *testing.T) {
	t.Parallel()
	desktest.Kill(t, sqlitePlace, func(t *testing.T, place string, _ func()) desk.Store {
		_, s := openSQL(t, "sqlite", place)
		return s
	})
}

func TestSQLite_common(t *testing.T) {
	t.Parallel()
	testCommon(t, "sqlite", sqlitePlace)
}
