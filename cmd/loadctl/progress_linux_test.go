package main

import (
	"os"
	"testing"

	"github.com/loadctl/loadctl/internal/watch/watchtest"
)

// safeBuffer is written and read by different goroutines.
type safeBuffer = watchtest.Buffer

// terminal is one that a command shows its progress on.
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
