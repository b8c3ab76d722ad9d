package deploy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// What the tests build with.
const (
	version = "v1.2.3"
	commit  = "0123456789abcdef0123456789abcdef01234567"
	epoch   = "1700000000" // SOURCE_DATE_EPOCH
)

// one and two are copies of the repository in which TestMain has built everything, for this architecture. They are set
// once, before any test.
var one, two string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "loadctl-deploy-")
	if err != nil {
		panic(err)
	}
	one, two = filepath.Join(dir, "one"), filepath.Join(dir, "another", "folder")
	code := 1
	second := make(chan error)
	go func() { second <- build(two) }()
	if err := errors.Join(build(one), <-second); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// build builds everything in a copy of the repository, which it makes.
func build(dir string) error {
	if err := copySource(dir); err != nil {
		return err
	}
	return makes(dir, "packages", "image", "chartfile", "site", "ARCHES="+runtime.GOARCH)
}

// makes runs make in a checkout, with targets and values for variables: NAME=VALUE.
func makes(checkout string, args ...string) error {
	args = append([]string{"-C", checkout, "--no-print-directory", "VERSION=" + version, "COMMIT=" + commit, "SOURCE_DATE_EPOCH=" + epoch}, args...)
	cmd := exec.Command("make", args...)
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "GOFLAGS=") // not those of the make that runs the tests
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make %q: %w\n%s", args, err, out)
	}
	return nil
}

// copySource copies the repository, without git and without what was built.
func copySource(dir string) error {
	entries, err := os.ReadDir("..")
	if err != nil {
		return err
	}
	for _, e := range entries {
		from, to := filepath.Join("..", e.Name()), filepath.Join(dir, e.Name())
		switch {
		case slices.Contains([]string{".git", "bin", "dist"}, e.Name()):
		case e.IsDir():
			err = errors.Join(err, os.CopyFS(to, os.DirFS(from)))
		default:
			text, readErr := os.ReadFile(from)
			err = errors.Join(err, readErr, os.MkdirAll(dir, 0o755), os.WriteFile(to, text, 0o644))
		}
	}
	return err
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
