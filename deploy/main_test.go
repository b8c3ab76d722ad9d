package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What the tests build with.
const (
	version = "v1.2.3"
	commit  = "0123456789abcdef0123456789abcdef01234567"
	epoch   = "1700000000" // SOURCE_DATE_EPOCH
)

// makes runs make in a checkout, with values for variables: NAME=VALUE.
func makes(t *testing.T, checkout, target string, variables ...string) {
	t.Helper()
	args := append([]string{"-C", checkout, "--no-print-directory", target, "VERSION=" + version, "COMMIT=" + commit, "SOURCE_DATE_EPOCH=" + epoch}, variables...)
	cmd := exec.CommandContext(t.Context(), "make", args...)
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "GOFLAGS=") // not those of the make that runs the tests
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v\n%s", target, err, out)
	}
}

// top is the top of the repository.
func top(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// written returns the text of a file.
func written(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// output runs a program that has to end well, and returns what it prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}
