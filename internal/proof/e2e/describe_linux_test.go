package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report"
)

// TestReportRepeatsTheRun: a worker started with the flags of a JSON report makes the same run again. The report also
// names machines and programs, and a file of each kind can be written.
func TestReportRepeatsTheRun(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	dir := t.TempDir()
	out := func(ending string) string { return filepath.Join(dir, "report"+ending) }
	described := append(unhurried(), "--url", b.web.URL()+"/a?b=c d", "--rate", "0.1k", "-n", "60", "--min-workers", "2", "-d", `{"a": "it's"}`, "-H", "Content-Type: text/plain",
		"--permit-for", "1m30s", "--limiter", "token-bucket", "--burst", "1k")
	files := []string{"--out", out(".json"), "--out", out(".xml"), "--out", out(".md"), "--out", out(".prom"), "--out", out(".csv")}
	for _, p := range []*process{b.worker("first", append(files, described...)...), b.worker("first", described...)} {
		p.wait(0)
	}
	text, err := os.ReadFile(out(".json"))
	var first report.Report
	if err == nil {
		err = json.Unmarshal(text, &first)
	}
	if err != nil {
		t.Fatal(err)
	}
	d := first.Described
	if d.Hosts != 1 || d.CreatedBy != "loadworker dev" || d.ReportedBy != "loadworker dev" || d.Redis == "" || len(d.Withheld) > 0 ||
		len(d.Commands) != 1 || d.Commands[0].Command != "create" || first.Sent != 60 {
		t.Errorf("%d sent, %+v", first.Sent, d)
	}
	for ending, begins := range map[string]string{".xml": "<?xml", ".md": "### Load test `first`: ", ".prom": "# HELP loadctl_run ", ".csv": "t,asked,sent,"} {
		if text, err := os.ReadFile(out(ending)); err != nil || !strings.HasPrefix(string(text), begins) {
			t.Errorf("%s: %v, %.100q", ending, err, text)
		}
	}
	for _, p := range []*process{b.worker("second", d.Flags...), b.worker("second", d.Flags...)} {
		p.wait(0)
	}
	second := b.report("second")
	if !slices.Equal(second.Described.Flags, d.Flags) || second.Sent != 60 || second.Asked != 60 {
		t.Errorf("%d sent of %d\n%q\n%q", second.Sent, second.Asked, second.Described.Flags, d.Flags)
	}
}
