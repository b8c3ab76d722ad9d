// Package clitest runs a command in the process of a test, as its main would.
package clitest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/cli"
)

// Secret is for the command lines of tests: Refused checks that no message shows it.
const Secret = "hunter2"

// Execute runs the command with these arguments.
func Execute(root *cobra.Command, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = cli.Main(root, args, &out, &errs)
	return out.String(), errs.String(), code
}

// Refused checks that a command line is refused, with exit code 104, nothing on stdout and one line on stderr that says all of says.
func Refused(t *testing.T, root *cobra.Command, args []string, says ...string) {
	t.Helper()
	stdout, stderr, code := Execute(root, args...)
	if code != cli.CodeConfig || stdout != "" || !strings.HasPrefix(stderr, "error: ") || strings.Count(stderr, "\n") != 1 || len(stderr) > 2000 {
		t.Errorf("%.300q: exit code %d, stdout %.100q, stderr %.2000q", args, code, stdout, stderr)
	}
	for _, text := range says {
		if !strings.Contains(stderr, text) {
			t.Errorf("%.300q: %.500q does not say %q", args, stderr, text)
		}
	}
	if strings.Contains(stderr, Secret) {
		t.Errorf("%.300q: %.500q shows the secret", args, stderr)
	}
}
