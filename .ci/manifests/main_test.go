package manifests

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// root is the top of the repository, seen from here.
const root = "../.."

// drain is how long a worker that gets SIGTERM may take, at its defaults: 0.6 s until its ranges are handed over, 31
// s for answers, and 26 s until it gives up on reporting to a Redis that does not answer. Who stops workers has to wait
// for so long.
const drain = 58 * time.Second

// image is what the Dockerfile makes, built once for all tests.
var image built

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "loadctl-manifests-")
	if err != nil {
		panic(err)
	}
	image, err = build(dir)
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the image:", err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// files are texts by their names, which are relative to the root.
type files map[string]string

// read returns all files that the patterns name.
func read(t *testing.T, patterns ...string) files {
	t.Helper()
	f := files{}
	for _, pattern := range patterns {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: there is no such file (%v)", pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			name, _ = filepath.Rel(root, name)
			f[name] = string(text)
		}
	}
	return f
}

// mistake makes a file wrong, and is what a check has to say of it.
type mistake struct {
	file     string
	old, new string // the first old becomes new
	says     string
}

// refuses makes one mistake after the other and expects the check to find each.
func refuses(t *testing.T, good files, check func(files) error, mistakes []mistake) {
	t.Helper()
	for _, m := range mistakes {
		if !strings.Contains(good[m.file], m.old) {
			t.Errorf("%s has no %q to make wrong", m.file, m.old)
			continue
		}
		bad := maps.Clone(good)
		bad[m.file] = strings.Replace(bad[m.file], m.old, m.new, 1)
		if err := check(bad); err == nil || !strings.Contains(err.Error(), m.says) {
			t.Errorf("%s with %q in place of %q: want %q, got: %v", m.file, m.new, m.old, m.says, err)
		}
	}
}
