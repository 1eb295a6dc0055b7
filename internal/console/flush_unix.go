//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package console

import (
	"syscall"
	"unsafe"
)

// isTerminal asks for the size of the window, which only a terminal has.
func isTerminal(fd uintptr) bool {
	var size [4]uint16
	return ioctl(fd, syscall.TIOCGWINSZ, unsafe.Pointer(&size))
}

// ioctl reports whether the request succeeded.
func ioctl(fd, request uintptr, argument unsafe.Pointer) bool {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(argument))
	return errno == 0
}
