package metrics

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

const pageFile = "../../../docs/metrics.md"

// TestPage: the table of the page is the list.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	const first, last = "<!-- metrics:list -->\n", "<!-- /metrics:list -->"
	before, rest, ok := strings.Cut(string(text), first)
	_, after, end := strings.Cut(rest, last)
	if !ok || !end {
		t.Fatalf("%s has no place for the list", pageFile)
	}
	made := before + first + table() + last + after
	if *update {
		if err := os.WriteFile(pageFile, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if made != string(text) {
		t.Errorf("the table in %s is not the list; run go test ./internal/console/metrics -run TestPage -update", pageFile)
	}
}

// table is the list as Markdown.
func table() string {
	out := &strings.Builder{}
	out.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, m := range List() {
		labels := "`" + strings.Join(m.Labels, "`, `") + "`"
		if len(m.Labels) == 0 {
			labels = ""
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", m.Name, m.Kind, labels, m.Help)
	}
	return out.String()
}

// examples returns the queries of the page.
func examples(t *testing.T) (queries []string) {
	t.Helper()
	text, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```promql\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		queries = append(queries, strings.Split(strings.TrimSpace(block[1]), "\n")...)
	}
	return queries
}
