package main

// The office: its folder, its web server, its desk and its audit log.

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/loophooks/hooks"
	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/policy"
)

type office struct {
	dir      string   // temporary, with all else in it
	files    *os.Root // what the assistant may read
	web      *webServer
	desk     *desk.Desk // where the payment waits
	audit    *policy.AuditLog
	auditKey []byte
	spilled  atomic.Int32

	mu     sync.Mutex
	outbox []string // mails as they were sent
}

// openOffice sets an office up. It must be closed.
func openOffice() (o *office, err error) {
	o = &office{auditKey: make([]byte, 32)}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("the office can't be opened: %w", err), o.close())
		}
	}()
	_, _ = rand.Read(o.auditKey) // never fails
	if o.dir, err = os.MkdirTemp("", "office"); err != nil {
		return o, err
	}
	if err = os.CopyFS(o.dir, embedded); err != nil {
		return o, err
	}
	if err = os.Mkdir(o.path("files"), 0o700); err != nil {
		return o, err
	}
	if o.files, err = os.OpenRoot(o.path("files")); err != nil {
		return o, err
	}
	for name, text := range documents() {
		if err = o.files.WriteFile(name, []byte(text), 0o600); err != nil {
			return o, err
		}
	}
	store, err := desk.File(o.path("questions"))
	if err != nil {
		return o, err
	}
	o.desk = desk.New(store)
	if o.audit, err = policy.OpenAuditLog(o.path("audit.jsonl"), o.auditKey); err != nil {
		return o, err
	}
	o.web, err = serveWeb()
	return o, err
}

// close closes what is open, and removes the folder.
func (o *office) close() error {
	var errs []error
	if o.web != nil {
		errs = append(errs, o.web.close())
	}
	if o.audit != nil {
		errs = append(errs, o.audit.Close())
	}
	if o.files != nil {
		errs = append(errs, o.files.Close())
	}
	if o.dir != "" {
		errs = append(errs, os.RemoveAll(o.dir))
	}
	return errors.Join(errs...)
}

func (o *office) path(name string) string { return filepath.Join(o.dir, name) }

// documents are the files of the office.
func documents() map[string]string {
	files := map[string]string{
		"agenda.txt": "Monday: nothing",
		"build.log":  "08:00 build started\n" + strings.Repeat("08:01 ok\n", 400) + "08:09 FAIL: TestInvoice",
	}
	for n := range 5 {
		files[fmt.Sprintf("minutes%d.txt", n+1)] = fmt.Sprintf("Minutes of meeting %d. ", n+1) + strings.Repeat("We talked. ", 15)
	}
	return files
}

// spill keeps a text that is too long for the model where read_file finds it.
func (o *office) spill(_ context.Context, _ *hooks.ToolCall, full string) (string, error) {
	name := fmt.Sprintf("long%d.txt", o.spilled.Add(1))
	return name, o.files.WriteFile(name, []byte(full), 0o600)
}

// send puts a mail into the outbox.
func (o *office) send(mail string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.outbox = append(o.outbox, mail)
}

// lastMail returns the mail that was sent last.
func (o *office) lastMail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.outbox) == 0 {
		return "nothing"
	}
	return o.outbox[len(o.outbox)-1]
}
