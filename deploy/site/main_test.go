package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocuments renders the documents of this checkout: each is in the contents, and each link leads somewhere. The
// tests of the folder above open the pages in a browser.
func TestDocuments(t *testing.T) {
	out := filepath.Join(t.TempDir(), "site")
	if err := build("../..", out, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(out, "index.html"))
	if err != nil || !strings.Contains(string(text), "v1.2.3") {
		t.Errorf("%.300s, %v", text, err)
	}
}

// TestWrongDocuments: the error names what is wrong, and where.
func TestWrongDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		says  []string
	}{
		"not in the contents": {map[string]string{"docs/b.md": "# B", "docs/a.md": "# A"}, []string{"docs/a.md, docs/b.md", "order.go"}},
		"no such file":        {map[string]string{"docs/report.md": "# R\n[x](nowhere.md)"}, []string{"docs/report.md links to nowhere.md"}},
		"no such heading":     {map[string]string{"docs/report.md": "# R\n[x](live.md#nowhere)"}, []string{"docs/live.md has no such heading"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := minimal(t)
			for name, text := range c.files {
				if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := build(root, filepath.Join(root, "out"), "v1.2.3")
			for _, want := range c.says {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("want %q, got %v", want, err)
				}
			}
		})
	}
}

// minimal returns a folder with a document for each entry of the contents.
func minimal(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range chapters() {
		for file := range strings.FieldsSeq(c.files) {
			if err := os.WriteFile(filepath.Join(root, file), []byte("# "+file), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}
