package serve

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// TestTargetSaysThatTheEventLogIsNotWhole asserts that a disk that is full is no success.
func TestTargetSaysThatTheEventLogIsNotWhole(t *testing.T) {
	c := counting(t, "--sse", "events=1", "--event-log", "/dev/full")
	if seen, err := c.stream(client(t), "GET", "/", "", 1); err != nil || len(seen) != 1 {
		t.Errorf("%d events, %v", len(seen), err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := await.Receive(t, "the end of the target", c.code); code != cli.CodeOther || !strings.Contains(c.stderr.String(), "--event-log: write /dev/full: no space left on device; it is not whole\n") {
		t.Errorf("exit code %d, stderr %q", code, c.stderr.String())
	}
}
