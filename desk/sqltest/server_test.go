//go:build unix

package sqltest

// A PostgreSQL server of the tests' own, in a folder of its own, that nobody else
// reaches: it listens on a Unix socket alone.

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

type postgres struct {
	dir   string
	cmd   *exec.Cmd
	out   *bytes.Buffer
	ended chan struct{} // closed when the server has ended
}

// startPostgres starts a server and returns when it answers.
func startPostgres() (*postgres, error) {
	bin, err := postgresFolder()
	if err != nil {
		return nil, err
	}
	// Not of t.TempDir: the server's user can't enter what lies above that.
	dir, err := os.MkdirTemp("", "hooks-postgres-")
	if err != nil {
		return nil, err
	}
	p := &postgres{dir: dir, out: new(bytes.Buffer), ended: make(chan struct{})}
	if err := p.start(bin); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return p, nil
}

// postgresFolder returns the folder of the newest server, which Debian doesn't put
// into PATH.
func postgresFolder() (string, error) {
	if found, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(found), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", errors.New("no PostgreSQL server is installed (package postgresql)")
	}
	slices.SortFunc(found, func(a, b string) int { return postgresVersion(a) - postgresVersion(b) })
	return filepath.Dir(found[len(found)-1]), nil
}

func postgresVersion(initdb string) int {
	version, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb)))) // 0 for what isn't one
	return version
}

func (p *postgres) start(bin string) error {
	attributes, err := p.otherUser()
	if err != nil {
		return err
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = p.dir, append(os.Environ(), "HOME="+p.dir, "LC_ALL=C"), attributes
		return cmd
	}
	data := filepath.Join(p.dir, "data")
	initdb := command("initdb", "-D", data, "-U", "hooks", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	p.cmd = command("postgres", "-D", data, "-k", p.dir, "-c", "fsync=off", "-h", "", "-c", "max_connections=200")
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = p.cmd.Wait() // that it ended is what counts
		close(p.ended)
	}()
	if err := p.await(); err != nil {
		return errors.Join(err, p.end())
	}
	return nil
}

// otherUser has the server run, where the tests do as root, as somebody else: it
// refuses root.
func (p *postgres) otherUser() (*syscall.SysProcAttr, error) {
	// A group of its own, so that an interrupt of the tests lets them end it.
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() != 0 {
		return attributes, nil
	}
	someone, err := user.Lookup("postgres")
	if err != nil {
		if someone, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.ParseUint(someone.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(someone.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attributes, os.Chown(p.dir, int(uid), int(gid))
}

// source is how the driver finds a database.
func (p *postgres) source(database string) string {
	return fmt.Sprintf("host=%s user=hooks dbname=%s sslmode=disable", p.dir, database)
}

// await returns when the server answers.
func (p *postgres) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	db, err := sql.Open("pgx", p.source("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // it has done its work
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("the PostgreSQL server ended:\n%s", p.out)
		case <-ctx.Done():
			return fmt.Errorf("the PostgreSQL server doesn't answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the server and removes what it had.
func (p *postgres) stop() error { return errors.Join(p.end(), os.RemoveAll(p.dir)) }

// end ends the server: at once, whoever is connected.
func (p *postgres) end() error {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(30 * time.Second):
		return errors.Join(errors.New("the PostgreSQL server doesn't end"), p.cmd.Process.Kill())
	}
}
