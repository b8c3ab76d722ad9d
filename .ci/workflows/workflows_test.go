package workflows

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

// root is the top of the repository, seen from here.
const root = "../.."

// TestWorkflows lints the workflows of this repository, and the one for those who copy it.
func TestWorkflows(t *testing.T) {
	var names []string
	for _, pattern := range []string{".github/workflows/*.yml", "examples/github/*.yml"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		names = append(names, found...)
	}
	var said bytes.Buffer
	linter, err := actionlint.NewLinter(&said, &actionlint.LinterOptions{Oneline: true})
	if err != nil {
		t.Fatal(err)
	}
	project, err := actionlint.NewProject(root)
	if err != nil {
		t.Fatal(err)
	}
	if wrong, err := linter.LintFiles(names, project); err != nil || len(wrong) > 0 {
		t.Errorf("%v\n%s", err, said.String())
	}
}

// TestWrongWorkflowsAreFound: the linter can fail.
func TestWrongWorkflowsAreFound(t *testing.T) {
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const workflow = "on: push\njobs:\n  one:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ github.event.pull_request.title }}\n        shel: bash\n"
	wrong, err := linter.Lint("x.yml", []byte(workflow), nil)
	if err != nil {
		t.Fatal(err)
	}
	var says []string
	for _, w := range wrong {
		says = append(says, w.Message)
	}
	if all := strings.Join(says, "\n"); !strings.Contains(all, "shel") || !strings.Contains(all, "untrusted") {
		t.Errorf("%q", all)
	}
}
