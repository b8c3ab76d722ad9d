package loadworker

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
)

// TestCompletion: a shell completes the words of --pace-resolution.
func TestCompletion(t *testing.T) {
	stdout, _, code := execute("__complete", "run", "--pace-resolution", "")
	if code != cli.CodeGood || !strings.HasPrefix(stdout, "auto\nprecise\neconomical\n") {
		t.Errorf("exit code %d, %q", code, stdout)
	}
}
