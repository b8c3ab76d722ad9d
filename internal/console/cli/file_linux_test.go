package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFile: it is replaced in one step, or stays what it was; and nothing else is left.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "file"), filepath.Join(t.TempDir(), "of yesterday")
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o640), os.Link(path, link)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(File(path).Check("out"), File(path).Try(), File(path).Write([]byte("new"))); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(link)
	text, err2 := os.ReadFile(path)
	info, err3 := os.Stat(path)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	if string(old) != "old" || string(text) != "new" || info.Mode() != 0o640 || len(names(t, dir)) != 1 {
		t.Errorf("%q in place of %q, %v, %q", text, old, info.Mode(), names(t, dir))
	}

	full := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -f 1; exec "$0" -test.run '^TestFileTooLong$'`, os.Args[0])
	full.Env = append(os.Environ(), "LOADCTL_TEST_FILE="+path)
	out, err := full.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "write "+path+": file too large") || strings.Contains(string(out), "/.file.") {
		t.Errorf("%v, %s", err, out)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "new" || len(names(t, dir)) != 1 {
		t.Errorf("%v; after a write that failed there is %.10q, %q", err, text, names(t, dir))
	}

	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := File(path).Write(nil); err == nil || err.Error() != "write "+path+": file exists" || len(names(t, dir)) != 1 {
		t.Errorf("in place of a directory: %v, %q", err, names(t, dir))
	}
	if err := File(filepath.Join(path, "not", "there")).Try(); err == nil || err.Error() != "no such file or directory" {
		t.Errorf("in a directory that is not there: %v", err)
	}
	if err := File("").Check("out"); err != nil {
		t.Errorf("none: %v", err)
	}
}

// TestFileTooLong is what TestFile runs where files must not be long; by itself it has nothing to write.
func TestFileTooLong(t *testing.T) {
	if path := os.Getenv("LOADCTL_TEST_FILE"); path != "" {
		if err := File(path).Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
}
