package deploy

import (
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// gate is a call of the script of the action for pull requests.
type gate struct {
	args, comment, pull string
	there               string // comments of this job on the pull request, by number
	code                int
	asks                string // how gh writes the comment
}

// TestGate runs the script of the action, with a real test and a gh that only takes notes.
func TestGate(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(nil) // answers 404
	t.Cleanup(server.Close)
	for name, g := range map[string]gate{
		"passes":             {"--expect=404\n\n  --threshold=errors:rate<1%  \n", "true", "7", "", 0, "pr comment 7 --body-file "},
		"fails":              {"--threshold=errors:rate<1%", "true", "7", "", 99, "pr comment 7 --body-file "},
		"again":              {"--expect=404", "true", "7", "11\n12\n", 0, "api --silent --method PATCH repos/team/shop/issues/comments/12 --field body=@"},
		"no comment":         {"--expect=404", "false", "7", "", 0, ""},
		"no pull request":    {"--expect=404", "true", "", "", 0, ""},
		"wrong command line": {"--no-such-flag", "true", "7", "", 104, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g.run(t, server.URL)
		})
	}
}

// run runs the script, and checks its exit code, the comment, the summary and the report.
func (g gate) run(t *testing.T, url string) {
	dir := t.TempDir()
	// The body of a comment is a file: gh keeps a copy.
	gh := `#!/bin/sh
echo "$@" >>` + dir + `/gh
case "$*" in
"api --paginate repos/team/shop/issues/7/comments "*env.MARK*) printf '` + g.there + `' ;;
*body=@*) cp "${7#body=@}" ` + dir + `/body ;;
*) cp "$5" ` + dir + `/body ;;
esac
`
	worker := "#!/bin/sh\nenv >" + dir + "/env\nexec " + filepath.Join(one, "bin", "loadworker") + ` "$@"` + "\n"
	bin := filepath.Join(dir, "path")
	if err := errors.Join(os.Mkdir(bin, 0o755), os.WriteFile(filepath.Join(bin, "gh"), []byte(gh), 0o755), os.WriteFile(filepath.Join(bin, "loadworker"), []byte(worker), 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "../.github/actions/gate/gate.sh")
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "GH_TOKEN=secret", "URL="+url, "LOADCTL_REDIS=", "TMPDIR="+dir,
		"ARGS=--qps=100\n--duration=2s\n--catch-up=1h\n--max-lag=1h\n--timeout=1h\n--permit-for=10m\n"+g.args, "COMMENT="+g.comment, "PULL_REQUEST="+g.pull,
		"REPORTS="+dir+"/reports", "GITHUB_OUTPUT="+dir+"/output", "GITHUB_STEP_SUMMARY="+dir+"/summary",
		"GH_REPO=team/shop", "GITHUB_WORKFLOW=load", "GITHUB_JOB=cart")
	out, _ := cmd.CombinedOutput()
	// A busy machine may be the limit of the test itself: 98.
	unproved := strings.Contains(g.args, "threshold") && cmd.ProcessState.ExitCode() == 98
	if code := cmd.ProcessState.ExitCode(); code != g.code && !unproved || strings.Contains(string(out), "::warning") {
		t.Fatalf("exit code %d, want %d\n%s", code, g.code, out)
	}
	if strings.Contains(written(t, filepath.Join(dir, "env")), "GH_TOKEN") {
		t.Error("the worker gets the token of the pull request")
	}
	asked, _ := os.ReadFile(filepath.Join(dir, "gh"))
	lines := strings.Split(strings.TrimSpace(string(asked)), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, g.asks) || (g.asks == "") != (last == "") {
		t.Errorf("gh was asked: %q", lines)
	}
	if g.code == 104 {
		return
	}
	report := written(t, filepath.Join(dir, "reports", "report.md"))
	if !strings.Contains(report, "|") || written(t, filepath.Join(dir, "summary")) != report {
		t.Errorf("report and summary differ: %.300s", report)
	}
	if g.asks != "" && written(t, filepath.Join(dir, "body")) != "<!-- loadctl gate: load cart -->\n"+report {
		t.Error("the comment is not the mark of the job and the report")
	}
	if written(t, filepath.Join(dir, "output")) != "reports="+dir+"/reports\n" {
		t.Error("the action does not say where the reports are")
	}
}
