package prepare

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/input/rehearsal"
)

// TestWorkloadCheck compares what a file would send with testdata, without a Redis.
func TestWorkloadCheck(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "redis://127.0.0.1:1") // nobody listens
	want, err := os.ReadFile("testdata/shop.txt")
	if err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := execute("workload", "check", "testdata/shop.yaml"); code != cli.CodeGood || stderr != "" || stdout != string(want) {
		t.Errorf("exit code %d, stderr %q, stdout\n%s\nwant\n%s", code, stderr, stdout, want)
	}
	stdout, stderr, code := execute("workload", "check", "testdata/shop.yaml", "--qps", "120", "-o", "json")
	var r rehearsal.Rehearsal
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != cli.CodeGood || stderr != "" {
		t.Fatalf("exit code %d, stderr %q, %v", code, stderr, err)
	}
	if *r.FlowsPerSecond != 80 || *r.RequestsPerSecond != 120 || r.StepsPerFlow != 1.5 || len(r.Requests) != 5 || *r.Flows[0].Steps[2].After != 500_000_000 || r.Requests[2].Bytes != 316 || len(r.Requests[2].Body) != 200 {
		t.Errorf("%s", stdout)
	}
	if strings.Contains(stdout, "hunter2") {
		t.Errorf("it shows a secret\n%s", stdout)
	}
	file := filepath.Join(t.TempDir(), "unrated.yaml")
	if err := os.WriteFile(file, []byte("flows: {f: [s: {get: 'http://a/'}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for qps, want := range map[string]string{"": "rate      none in the file, so --qps says it; requests in each flow: 1\n", "max": "rate      max, as fast as it goes; requests in each flow: 1\n", "5": "rate      5 flows/s, 5 requests/s (cluster total)\n"} {
		if stdout, _, code := execute("workload", "check", file, "--qps", qps); code != cli.CodeGood || !strings.HasPrefix(stdout, want) {
			t.Errorf("--qps %q: exit code %d\n%s", qps, code, stdout)
		}
	}
	for says, want := range map[string]string{
		"concurrency: 8": "rate      c=8: as many requests in flight (cluster total)\n\n", "stages: [60s:c=8, 60s:c=16]": "rate      c=8, c=16: as many requests in flight (cluster total)\nstages    60s:c=8, 60s:c=16\nlength    2m\n",
	} {
		if err := os.WriteFile(file, []byte("flows: {f: [s: {get: 'http://a/'}]}\n"+says), 0o600); err != nil {
			t.Fatal(err)
		}
		if stdout, stderr, code := execute("workload", "check", file); code != cli.CodeGood || !strings.HasPrefix(stdout, want) {
			t.Errorf("%s: exit code %d\n%s%s", says, code, stdout, stderr)
		}
	}
	refused(t, []string{"workload", "check"}, "check: give FILE; usage: loadctl workload check FILE")
	refused(t, []string{"workload", "chek"}, "did you mean check?")
	refused(t, []string{"workload", "check", "none.yaml"}, "--workload: open none.yaml: no such file or directory")
	refused(t, []string{"workload", "check", file, "--qps", "x"}, `--qps: rate "x": not a number of requests per second`)
	refused(t, []string{"workload", "check", file, "-o", "xml"}, `--output "xml": there are text, json`)
	refused(t, []string{"workload", "check", "testdata/limiters.txt"}, "--workload: testdata/limiters.txt:2:1: is no YAML")
}
