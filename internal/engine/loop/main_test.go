//go:build linux

package loop

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain keeps the memory of all tests together small: some send and receive tens of megabytes, many at the same time.
func TestMain(m *testing.M) {
	debug.SetMemoryLimit(450 << 20)
	os.Exit(m.Run())
}
