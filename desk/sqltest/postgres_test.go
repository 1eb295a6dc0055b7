package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/desk/desktest"
)

// server is the PostgreSQL server of the tests: started by the first that needs it,
// and stopped by TestMain.
var server struct {
	once    sync.Once
	running *postgres
	err     error
	names   atomic.Int64
}

func TestMain(m *testing.M) {
	code := m.Run()
	if server.running != nil {
		if err := server.running.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "the PostgreSQL server couldn't be stopped:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// postgresPlace makes an empty database. Without a server the test is skipped, or
// fails where HOOKS_SERVERS says that there must be one.
func postgresPlace(t *testing.T) string {
	t.Helper()
	server.once.Do(func() { server.running, server.err = startPostgres() })
	if server.err != nil {
		if os.Getenv("HOOKS_SERVERS") == "required" {
			t.Fatal(server.err)
		}
		t.Skip(server.err)
	}
	name := fmt.Sprintf("desk%d", server.names.Add(1))
	db, err := sql.Open("pgx", server.running.source("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // it has done its work
	if _, err := db.ExecContext(context.WithoutCancel(t.Context()), "create database "+name); err != nil {
		t.Fatal(err)
	}
	return server.running.source(name)
}

func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	desktest.Run(t, func(t *testing.T) desk.Store {
		_, s := openSQL(t, "pgx", postgresPlace(t))
		return s
	})
}

func TestPostgreSQL_oneConnection(t *testing.T) {
	t.Parallel()
	desktest.Run(t, func(t *testing.T) desk.Store {
		db, s := openSQL(t, "pgx", postgresPlace(t))
		db.SetMaxOpenConns(1) // what holds on to one has all else wait
		return s
	})
}

func TestPostgreSQL_killed(t *testing.T) {
	t.Parallel()
	desktest.Kill(t, postgresPlace, func(t *testing.T, place string, _ func()) desk.Store {
		_, s := openSQL(t, "pgx", place)
		return s
	})
}

func TestPostgreSQL_common(t *testing.T) {
	t.Parallel()
	testCommon(t, "pgx", postgresPlace)
}
