package e2e

import (
	"encoding/xml"
	"fmt"
	"html"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report/threshold"
)

// gateOut returns the flags that write the files of a pipeline into a directory.
func gateOut(dir string) []string {
	return []string{"--out", filepath.Join(dir, "gate.xml"), "--out", filepath.Join(dir, "gate.md")}
}

// gateFiles are the cases of a JUnit file and their results.
type gateFiles map[string]string

// readGate reads the files of a pipeline, and checks that they agree with each other and with the exit code: all cases
// pass if and only if it is 0.
func readGate(t *testing.T, dir string, code int) gateFiles {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(dir, "gate.xml"))
	if err != nil {
		t.Fatal(err)
	}
	markdown, err := os.ReadFile(filepath.Join(dir, "gate.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := html.UnescapeString(strings.ReplaceAll(string(markdown), `\`, ""))
	var suites struct {
		Cases []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
		} `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(file, &suites); err != nil {
		t.Fatal(err)
	}
	files, good := gateFiles{}, true
	for _, c := range suites.Cases {
		result := threshold.Passed
		if c.Failure != nil {
			result = threshold.Failed
		} else if c.Error != nil {
			result = threshold.Undecided
		}
		files[c.Name], good = result, good && result == threshold.Passed
		sign := map[string]string{threshold.Passed: "✓", threshold.Failed: "✗", threshold.Undecided: "?"}[result]
		if row := fmt.Sprintf("| %s | %s %s | ", c.Name, sign, result); !strings.Contains(page, row) {
			t.Errorf("no %q in\n%s", row, page)
		}
	}
	headline, _, _ := strings.Cut(page, "\n")
	_, says, _ := strings.Cut(headline, ": ")
	says, _, _ = strings.Cut(says, ", ")
	headlines := map[int][]string{0: {"passed"}, 98: {"invalid"}, 99: {"failed", "undecided"}}
	if good != (code == 0) || !slices.Contains(headlines[code], says) {
		t.Errorf("exit code %d, %q, %v", code, headline, files)
	}
	return files
}

// gate returns what loadctl report writes about a run, and checks its exit code.
func (b *bed) gate(run string, want int) gateFiles {
	b.t.Helper()
	dir := b.t.TempDir()
	if _, says, code := b.try(append([]string{"report", run}, gateOut(dir)...)...); code != want {
		b.t.Fatalf("exit code %d, want %d: %s", code, want, says)
	}
	return readGate(b.t, dir, want)
}

// are checks the results of these cases.
func (g gateFiles) are(t *testing.T, result string, cases ...string) {
	t.Helper()
	for _, name := range cases {
		if g[name] != result {
			t.Errorf("%s is %q, want %s: %v", name, g[name], result, g)
		}
	}
}

// equal checks that another command has written the same.
func (g gateFiles) equal(t *testing.T, other gateFiles) {
	t.Helper()
	if !maps.Equal(g, other) {
		t.Errorf("%v, want %v", other, g)
	}
}
