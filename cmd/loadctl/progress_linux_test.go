package main

import (
	"os"
	"testing"

	"github.com/loadctl/loadctl/internal/console/watch/watchtest"
)

// terminal is a terminal on which a command shows its progress.
type terminal struct {
	slave  *os.File
	screen *watchtest.Buffer
	shown  func() string // closes it
}

func newTerminal(t *testing.T, columns uint16) *terminal {
	t.Helper()
	p := watchtest.NewTerminal(t, columns)
	return &terminal{slave: p.Slave, screen: &p.Screen, shown: p.Shown}
}
