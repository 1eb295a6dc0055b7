//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package console

func isTerminal(uintptr) bool { return false }

func flushTerminal(uintptr) bool { return false }
