package workflows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

// root is the top of the repository, seen from here.
const root = "../.."

// workflows returns the files of this repository's workflows, and the one for those who copy it.
func workflows(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{".github/workflows/*.yml", "examples/github/*.yml"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		names = append(names, found...)
	}
	return names
}

// TestWorkflows lints the workflows of this repository, and the one for those who copy it.
func TestWorkflows(t *testing.T) {
	names := workflows(t)
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

// TestSteps: what the linter does not know of our steps. Each make has its target. Go is the newest patch of the version in
// go.mod: setup-go takes that file to the letter, and our tools need later patches. No checkout leaves its token in the
// folder, where what runs later could read it.
func TestSteps(t *testing.T) {
	for _, name := range workflows(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkSteps(t, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for step, says := range map[string]string{
		"uses: actions/checkout@v5":                                                      "persist-credentials",
		"{uses: actions/setup-go@v6, with: {go-version-file: go.mod}}":                   "check-latest",
		`{uses: actions/setup-go@v6, with: {go-version: "1.25", check-latest: true}}`:    "go.mod has",
		"run: make build && make nonsense VERSION=x":                                     "there is no make nonsense",
		"{uses: actions/checkout@v5, with: {fetch-depth: 0, persist-credentials: true}}": "persist-credentials",
		`{uses: actions/setup-go@v6, with: {go-version: "1.26", cache: false}}`:          "check-latest",
	} {
		text := "on: push\njobs:\n  one:\n    runs-on: ubuntu-latest\n    steps:\n      - " + step + "\n"
		if err := checkSteps(t, []byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: want %q, got %v", step, says, err)
		}
	}
}

// checkSteps checks the steps of a workflow.
func checkSteps(t *testing.T, text []byte) error {
	t.Helper()
	workflow, bad := actionlint.Parse(text)
	if len(bad) > 0 {
		t.Fatal(bad[0])
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	golang := regexp.MustCompile(`(?m)^go (1\.\d+)`).FindStringSubmatch(string(module))[1]
	var wrong []error
	for _, job := range workflow.Jobs {
		for _, step := range job.Steps {
			switch exec := step.Exec.(type) {
			case *actionlint.ExecRun:
				for _, m := range regexp.MustCompile(`\bmake ([a-z-]+)`).FindAllStringSubmatch(exec.Run.Value, -1) {
					if !strings.Contains(string(makefile), "\n"+m[1]+":") {
						wrong = append(wrong, fmt.Errorf("there is no make %s", m[1]))
					}
				}
			case *actionlint.ExecAction:
				wrong = append(wrong, checkAction(exec, golang))
			}
		}
	}
	return errors.Join(wrong...)
}

// checkAction checks the inputs of an action that we use.
func checkAction(action *actionlint.ExecAction, golang string) error {
	input := func(name string) string {
		if in := action.Inputs[name]; in != nil {
			return in.Value.Value
		}
		return ""
	}
	name, _, _ := strings.Cut(action.Uses.Value, "@")
	switch {
	case name == "actions/checkout" && input("persist-credentials") != "false":
		return fmt.Errorf("%s without persist-credentials: false", name)
	case name == "actions/setup-go" && input("check-latest") != "true":
		return fmt.Errorf("%s without check-latest: true", name)
	case name == "actions/setup-go" && input("go-version") != golang:
		return fmt.Errorf("%s has Go %q, and go.mod has %s", name, input("go-version"), golang)
	}
	return nil
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
