package policy

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// smallDisk is a file on a disk with little room.
type smallDisk struct {
	data            []byte
	room            int
	unsynced, uncut bool
	panics          bool
}

var errDisk = errors.New("no space left")

func (d *smallDisk) WriteAt(p []byte, at int64) (int, error) {
	n := copy(make([]byte, max(d.room-int(at), 0)), p)
	d.data = append(d.data[:at], append(p[:n:n], d.data[min(len(d.data), int(at)+n):]...)...)
	if d.panics {
		panic("the disk is gone")
	}
	if n < len(p) {
		return n, errDisk
	}
	return n, nil
}

func (d *smallDisk) Sync() error {
	if d.unsynced {
		return errDisk
	}
	return nil
}

func (d *smallDisk) Truncate(size int64) error {
	if d.uncut {
		return errDisk
	}
	d.data = d.data[:size]
	return nil
}

func (d *smallDisk) Close() error { return nil }

func TestFileWriter_cutsBack(t *testing.T) {
	t.Parallel()
	key := []byte("a key of 32 bytes for the audits")
	const enough = 10_000
	for name, c := range map[string]struct{ breaks, mends func(*smallDisk) }{
		"half a line":      {func(d *smallDisk) { d.room = len(d.data) + 20 }, func(d *smallDisk) { d.room = enough }},
		"no sync":          {func(d *smallDisk) { d.unsynced = true }, func(d *smallDisk) { d.unsynced = false }},
		"cut back later":   {func(d *smallDisk) { d.room, d.uncut = len(d.data)+20, true }, func(d *smallDisk) { d.room, d.uncut = enough, false }},
		"a panic in Write": {func(d *smallDisk) { d.panics = true }, func(d *smallDisk) { d.panics = false }},
	} {
		d := &smallDisk{room: enough}
		l := newAuditLog(&fileWriter{f: d}, key)
		require.NoError(t, l.intend(auditRecord{Kind: kindIntent}))
		whole := len(d.data)

		c.breaks(d)
		fails := func(write func(auditRecord) error) {
			if d.panics {
				assert.Panics(t, func() { _ = write(auditRecord{Kind: kindOutcome}) }, name)
			} else {
				require.Error(t, write(auditRecord{Kind: kindOutcome}), name)
			}
		}
		fails(l.intend)
		if !d.uncut && !d.panics {
			assert.Len(t, d.data, whole, "%s: only whole lines stand", name)
		}
		if !d.unsynced {
			fails(l.note)
		}
		fails(l.intend)

		c.mends(d)
		require.NoError(t, l.intend(auditRecord{Kind: kindIntent}), name)
		head, err := VerifyAudit(bytes.NewReader(d.data), key)
		require.NoError(t, err, name)
		assert.Equal(t, l.Head(), head)
		want := int64(3) // with the outcome that was owed
		if name == "no sync" {
			want = 2
		}
		assert.Equal(t, want, head.Seq, name)
		require.NoError(t, l.Close())
	}
}
