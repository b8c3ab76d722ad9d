package prepare

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/cli/clitest"
)

// TestLimiters compares the table with the output of `loadctl limiters` and `loadctl limiters -o json` in testdata.
func TestLimiters(t *testing.T) {
	for file, args := range map[string][]string{
		"limiters.txt":  {"limiters"},
		"limiters.json": {"limiters", "-o", "json"},
	} {
		want, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if stdout, stderr, code := execute(args...); code != cli.CodeGood || stderr != "" || stdout != string(want) {
			t.Errorf("%v: exit code %d, stderr %q, stdout\n%s\nwant\n%s", args, code, stderr, stdout, want)
		}
	}
	stdout, _, _ := execute("limiters", "gcra", "fixed-window", "-o", "json")
	var some explained
	if err := json.Unmarshal([]byte(stdout), &some); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	if len(some.Limiters) != 3 || some.Limiters[2].Name != "fixed-window" {
		t.Errorf("%s", stdout)
	}
}

func TestLimitersRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"bucket"}, `limiter "bucket": there is none; take one of gcra, token-bucket, leaky-bucket, `},
		{[]string{"tokenbucket"}, `limiter "tokenbucket": there is none; did you mean token-bucket? Or take one of gcra, `},
		{[]string{"-o", "csv"}, `--output "csv": there are text, json`},
	} {
		refused(t, append([]string{"limiters"}, c.args...), c.says)
	}
}

// TestLimitersWriteError: if the table cannot be written, that is an error.
func TestLimitersWriteError(t *testing.T) {
	if code := cli.Main(newRootCommand(), []string{"limiters"}, clitest.FullDisk{}, io.Discard); code != cli.CodeOther {
		t.Errorf("exit code %d", code)
	}
}
