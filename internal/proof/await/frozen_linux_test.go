package await_test

import (
	"os/exec"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// TestFrozen: a frozen process does not see that its input has ended. It can still be killed.
func TestFrozen(t *testing.T) {
	cmd := exec.Command("cat")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := child.Start(cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := await.Frozen(cmd.Process); err != nil {
		t.Fatal(err)
	}
	if err := input.Close(); err != nil { // it would end now
		t.Fatal(err)
	}
	select {
	case <-p.Exited:
		t.Errorf("it ended with %d", cmd.ProcessState.ExitCode())
	case <-time.After(200 * time.Millisecond):
	}
	p.Kill()
	if code := cmd.ProcessState.ExitCode(); code != -1 {
		t.Errorf("killed: it ended with %d", code)
	}
}
