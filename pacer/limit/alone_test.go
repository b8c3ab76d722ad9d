package limit_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestAlone asserts that a program that uses the library has no package of the load generator but the scripts.
func TestAlone(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for dep := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(dep, "github.com/loadctl/") {
			ours = append(ours, strings.TrimPrefix(dep, "github.com/loadctl/loadctl/"))
		}
	}
	if got := strings.Join(ours, " "); got != "lua pacer/limit" {
		t.Errorf("it imports %s", got)
	}
}
