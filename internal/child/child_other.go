//go:build !linux

package child

import "os/exec"

// dieWithParent has nothing to offer here: a child outlives a parent that is killed, and Ctrl-C reaches both.
func dieWithParent(*exec.Cmd) {}
