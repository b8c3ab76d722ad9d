package await

import (
	"os"
	"testing"
	"time"
)

// Acceptance reports whether this is the acceptance run: the tests have a quiet machine, and measure promises in time.
func Acceptance() bool { return os.Getenv("LOADCTL_E2E") == "full" }

// Soon fails the test if what has happened took longer than most. It does so in acceptance only: no other test fails
// because the machine is slow.
func Soon(t testing.TB, what string, took, most time.Duration) {
	t.Helper()
	if Acceptance() && took > most {
		t.Errorf("%s took %v, want at most %v", what, took, most)
	}
}
