// Package clitest runs a command in the process of a test, as its main would.
package clitest

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// Secret is for the command lines of tests: Refused checks that no message shows it.
const Secret = "hunter2"

// Loadctl returns loadctl with these commands alone. They reach Redis as redis says.
func Loadctl(redis *cli.Redis, commands ...*cobra.Command) *cobra.Command {
	root := cli.NewProgram("loadctl", "", "dev", "")
	redis.AddFlags(root, "")
	root.AddCommand(commands...)
	return root
}

// FullDisk is standard output that takes nothing.
type FullDisk struct{}

// Write implements io.Writer.
func (FullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

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
	Refusal{Args: args, Says: says}.Check(t, stdout, stderr, code)
}

// Refusal is what becomes of an input that is wrong.
type Refusal struct {
	Args []string
	Code int      // the exit code; 0 = cli.CodeConfig
	Says []string // what the message has in it: what is wrong, and what to do
}

// Check checks what a command left behind: its exit code, nothing on stdout, and on stderr one line of bounded length without secrets.
func (r Refusal) Check(t *testing.T, stdout, stderr string, code int) {
	t.Helper()
	t.Logf("%.100q: %.600s", r.Args, stderr)
	if code != cmp.Or(r.Code, cli.CodeConfig) || stdout != "" {
		t.Errorf("%.300q: exit code %d, stdout %.100q, stderr %.2000q", r.Args, code, stdout, stderr)
	}
	if !strings.HasPrefix(stderr, "error: ") || strings.Count(stderr, "\n") != 1 || !strings.HasSuffix(stderr, "\n") || len(stderr) > 2000 {
		t.Errorf("%.300q: not one line that begins with error: %.2000q", r.Args, stderr)
	}
	for _, text := range r.Says {
		if !strings.Contains(stderr, text) {
			t.Errorf("%.300q: %.500q does not say %q", r.Args, stderr, text)
		}
	}
	if strings.Contains(stderr, Secret) {
		t.Errorf("%.300q: %.500q shows the secret", r.Args, stderr)
	}
}

// RefusedAll checks each of the refusals, and that Redis holds exactly what it held before.
func RefusedAll(t *testing.T, root func() *cobra.Command, client rdb.Client, all []Refusal) {
	t.Helper()
	before := redistest.Contents(t, client)
	for _, r := range all {
		stdout, stderr, code := Execute(root(), r.Args...)
		r.Check(t, stdout, stderr, code)
		if after := redistest.Contents(t, client); !maps.Equal(before, after) {
			t.Errorf("%.300q: Redis holds\n%.2000q\nand held\n%.2000q", r.Args, after, before)
			before = after
		}
	}
}
