package doctest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPromisesAreInTheirTier: the second column of the tables of promises names tests of make test. None of them skips
// itself as a whole with go test -short.
func TestPromisesAreInTheirTier(t *testing.T) {
	bodies := testBodies(t)
	row := regexp.MustCompile(`(?m)^\| .* \|$`)
	name := regexp.MustCompile("`(Test\\w+)`")
	for _, page := range []string{"docs/guarantees.md", "docs/tests.md"} {
		promises := 0
		_, table, ok := strings.Cut(read(t, page), "| promised | in `make test` |")
		if !ok {
			t.Fatalf("%s has no table of promises", page)
		}
		table, _, _ = strings.Cut(table, "\n\n")
		for _, line := range row.FindAllString(table, -1) {
			promises++
			cells := strings.Split(line, " | ")
			for _, m := range name.FindAllStringSubmatch(cells[len(cells)-2], -1) {
				if body := bodies[m[1]]; skips(body) {
					t.Errorf("%s: %s is not in make test", page, m[1])
				}
			}
			if len(name.FindAllString(line, -1)) == 0 {
				t.Errorf("%s: no test for: %s", page, line)
			}
		}
		if promises < 10 {
			t.Errorf("%s: found only %d promises", page, promises)
		}
	}
}

// skips reports whether a test begins by leaving itself to make test-all.
func skips(body string) bool {
	first := strings.TrimSpace(body)
	return strings.HasPrefix(first, "nightly(t)") || strings.HasPrefix(first, "if testing.Short() {\n\t\tt.Skip(")
}

// testBodies returns the text of each test of the module, by name.
func testBodies(t *testing.T) map[string]string {
	t.Helper()
	bodies := map[string]string{}
	begin := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\) \{\n`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range begin.FindAllSubmatchIndex(text, -1) {
			body, _, _ := strings.Cut(string(text[m[1]:]), "\n}\n")
			bodies[string(text[m[2]:m[3]])] += body
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bodies
}
