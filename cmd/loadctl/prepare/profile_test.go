package prepare

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/input/preview"
)

// TestProfileShow: a profile is shown without a Redis. The argument, --profile, --stage and --qps describe one too.
func TestProfileShow(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "redis://127.0.0.1:1") // nobody listens
	file := filepath.Join(t.TempDir(), "traffic.csv")
	if err := os.WriteFile(file, []byte("time,rate\n0,5\n10,15\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"replay:" + file},
		{"--profile", "replay:" + file},
		{"--stage", "0s:5", "--stage", "10s:5", "--stage", "0s:15", "--stage", "10s:15"},
		{"steps:from=5,to=15,by=10,every=10s"},
		{"spike:base=5,peak=15,every=20s,for=10s", "--duration", "20s"},
	} {
		args = append([]string{"profile", "show"}, args...)
		stdout, stderr, code := execute(args...)
		if code != cli.CodeGood || stderr != "" || !strings.HasPrefix(stdout, "peak      15/s\nmean      10/s\nrequests  200\nlength    20s") || strings.Contains(stdout, "\x1b") {
			t.Errorf("%q: exit code %d, %s%s", args, code, stdout, stderr)
		}
		stdout, stderr, code = execute(append(args, "-o", "json")...)
		var p preview.Preview
		if err := json.Unmarshal([]byte(stdout), &p); err != nil || code != cli.CodeGood || p.Peak != 15 || p.Requests == nil || *p.Requests != 200 || len(p.Points) == 0 {
			t.Errorf("%q: exit code %d, %v, %+v%s", args, code, err, p, stderr)
		}
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "give a profile, such as sine:mean=1k,amplitude=400,period=1m, or --qps or --stage"},
		{[]string{"zigzag"}, `profile "zigzag": unknown; write one of replay, sine, spike, steps`},
		{[]string{"replay:" + file + ",colour=red"}, "colour is not a setting of this profile; leave it out"},
		{[]string{"replay:" + file + "x"}, "traffic.csvx: no such file or directory; give the path of a file that can be read"},
		{[]string{"--qps", "max"}, "--qps max: a closed loop has no rate to show"},
		{[]string{"sine:", "sine:"}, "profile show"},
		{[]string{"--qps", "5", "-o", "xml"}, `--output "xml": there are text, json`},
	} {
		refused(t, append([]string{"profile", "show"}, c.args...), c.says)
	}
}
