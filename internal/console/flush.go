package console

// Dropping what was typed at a terminal before a question is shown. Only a
// file that is a terminal loses anything; a pipe or a file keeps its lines.

import (
	"io"
	"os"
)

// flush drops what a terminal holds that nobody has read, a half line
// included. It reports whether it did: in must be the file of a terminal, and
// the system one whose ioctl is known.
func flush(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	// Not Fd, which would take the file's deadlines away.
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	flushed := false
	err = conn.Control(func(fd uintptr) {
		flushed = isTerminal(fd) && flushTerminal(fd)
	})
	return err == nil && flushed
}
