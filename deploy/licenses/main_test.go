package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/deploy/contents"
)

// TestLicenses: each part has a licence, also on systems that need others.
func TestLicenses(t *testing.T) {
	parts, err := contents.Parts("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := collect(parts)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\ngithub.com/redis/go-redis/v9 v9.", "\ngithub.com/spf13/cobra v1.", "\nstd 1.", "\nuplot 1.", "Permission is hereby granted", "Apache License"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(text, "loadctl") {
		t.Error("our own modules are not other people's")
	}
}

// TestCollect: parts with one text share it, notices count, and a part without a licence is an error.
func TestCollect(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"a/LICENSE": "one\n", "b/License.md": "two", "b/NOTICE": "see\r\nhere", "b/license.go": "no", "c/COPYING": "one", "d/README": "free"} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var parts []contents.Part
	for _, name := range []string{"a", "b", "c"} {
		parts = append(parts, contents.Part{Name: name, Version: "v1", Dir: filepath.Join(root, name)})
	}
	line := strings.Repeat("=", 80)
	text, err := collect(parts)
	_, text, _ = strings.Cut(text, "\n")
	if want := "\n" + line + "\na v1\nc v1\n\none\n\n" + line + "\nb v1\n\ntwo\n\nsee\nhere\n"; err != nil || text != want {
		t.Errorf("%q, %v, want %q", text, err, want)
	}
	parts = append(parts, contents.Part{Name: "d", Version: "v1", Dir: filepath.Join(root, "d")})
	if _, err := collect(parts); err == nil || !strings.Contains(err.Error(), "d v1: there is no file with a licence") {
		t.Error(err)
	}
}
