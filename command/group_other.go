//go:build !unix

package command

import "os/exec"

// ownGroup leaves it at killing the script itself, as os/exec does.
func ownGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
