package console

import (
	"runtime"
	"strings"
)

func flushTerminal(fd uintptr) bool {
	return ioctl(fd, tcflsh(), nil) // nil is TCIFLUSH, which is 0: the input
}

// tcflsh returns the number of TCFLSH, which package syscall doesn't name on
// every architecture.
func tcflsh() uintptr {
	switch {
	case strings.HasPrefix(runtime.GOARCH, "mips"):
		return 0x5407
	case strings.HasPrefix(runtime.GOARCH, "ppc64"):
		return 0x2000741f
	}
	return 0x540b
}
