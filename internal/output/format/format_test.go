package format

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// TestTable: formats are found by name and by file ending, in any case.
func TestTable(t *testing.T) {
	hex := func(w io.Writer, n int) error { _, err := fmt.Fprintf(w, "%x", n); return err }
	decimal := func(w io.Writer, n int) error { _, err := fmt.Fprint(w, n); return err }
	table := Table[int]{{"decimal", ".txt", decimal}, {"hex", ".hex", hex}}
	if !slices.Equal(table.Names(), []string{"decimal", "hex"}) || !slices.Equal(table.Endings(), []string{".txt", ".hex"}) {
		t.Error(table.Names(), table.Endings())
	}
	for path, want := range map[string]string{"a.txt": "decimal", "dir.txt/a.HEX": "hex", "hex": "", "a.txt/": "", "": "", ".": ""} {
		if got := table.Of(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	for name, want := range map[string]string{"decimal": "255", "hex": "ff"} {
		var b strings.Builder
		render, err := table.Renderer(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := render(&b, 255); err != nil || b.String() != want {
			t.Errorf("%s: %v, %q, want %q", name, err, b.String(), want)
		}
	}
	if _, err := table.Renderer("octal"); err == nil || err.Error() != `output "octal": want one of decimal, hex` {
		t.Error(err)
	}
}
