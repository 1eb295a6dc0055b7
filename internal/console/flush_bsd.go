//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package console

import (
	"syscall"
	"unsafe"
)

func flushTerminal(fd uintptr) bool {
	queue := int32(1) // FREAD: the input
	return ioctl(fd, syscall.TIOCFLUSH, unsafe.Pointer(&queue))
}
