package runflags

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/pacer"
)

// written is a file with a content.
func written(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestReplayTravels: the spec of a replay has its rates, so nobody needs the file again. Reports and messages show a
// digest of them.
func TestReplayTravels(t *testing.T) {
	path := written(t, "traffic.csv", "time,rate\n0,100\n2,300\n3,50\n")
	there := read(t, []string{"--url", "noop://", "--profile", "replay:" + path + ",speed=2"})
	if err := os.WriteFile(path, []byte("time,rate\n0,100\n2,300\n3,51\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	here := read(t, []string{"--url", "noop://", "--profile", "replay:" + path + ",speed=2"})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	plan, err := there.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := pacer.JoinPieces(plan.Pieces), "200:200:1:1000000;600:600:1:500000;100:100:1:500000"; got != want || plan.Span != 2*time.Second || plan.Loop {
		t.Errorf("%s for %v, want %s for 2s", got, plan.Span, want)
	}
	const digest = "replay:traffic.csv,speed=2,[3 pieces, SHA-256 "
	set := there.Setting()
	if i := slices.Index(set.Flags, "--profile"); i < 0 || !strings.HasPrefix(set.Flags[i+1], digest) || !slices.Contains(set.Withheld, "--profile") {
		t.Errorf("%q, withheld %q", set.Flags, set.Withheld)
	}
	if diff := there.Diff(here); len(diff) != 1 || strings.Count(diff[0], digest) != 2 || strings.Contains(diff[0], "pieces=") {
		t.Errorf("%q", diff)
	}
	other := read(t, []string{"--url", "noop://", "--profile", "replay:" + written(t, "a.csv", "time,rate\n0,100\n1,100\n2,300\n3,50\n") + ",speed=2"})
	if diff := there.Diff(other); len(diff) > 0 {
		t.Errorf("the same rates of another file: %q", diff)
	}
}

func TestScheduleRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		flags            Schedule
		argument, reason string
	}{
		{Schedule{}, "", "give a profile, such as sine:mean=1k,amplitude=400,period=1m, or --qps or --stage"},
		{Schedule{qps: "0"}, "", "--qps: give the rate of the whole cluster"},
		{Schedule{profile: "sine:mean=1,amplitude=1,period=1s"}, "sine:mean=1,amplitude=1,period=1s", "--profile and a profile as the argument: give one of them"},
		{Schedule{qps: "5"}, "sine:mean=1,amplitude=1,period=1s", "--qps and --profile: the profile is the rate"},
		{Schedule{qps: "5", rate: "5"}, "", "give one of them"},
		{Schedule{stages: []string{"1s:5"}}, "sine:mean=1,amplitude=1,period=1s", "--profile and --stage: give one of them"},
		{Schedule{stages: []string{"1s:5"}, duration: cli.Duration(time.Second)}, "", "leave --duration out"},
		{Schedule{qps: "5", duration: 1000}, "", "--duration: at least 1ms"},
		{Schedule{}, "zigzag", "unknown; write one of"},
		{Schedule{}, "replay:" + dir, "is a directory; give the path of a file that can be read"},
		{Schedule{}, "replay:" + dir + "/none", "no such file or directory; give the path of a file that can be read"},
		{Schedule{}, "replay:" + strings.Repeat("x", 1<<20), "file name too long; give the path of a file that can be read"},
		{Schedule{}, "replay:" + written(t, "a", "time,rate\n0,5\n1,-5\n"), "a:3: the rate -5 is negative; give 0 or more"},
	} {
		if _, err := c.flags.Spec(c.argument); err == nil || cli.Code(err) != cli.CodeConfig || !strings.Contains(err.Error(), c.reason) || len(err.Error()) > 1000 {
			t.Errorf("%+v %.100q: %.1000v; want an error with %q", c.flags, c.argument, err, c.reason)
		}
	}
	given := Schedule{duration: cli.Duration(time.Minute)}
	s, err := given.Spec("sine:mean=1,amplitude=1,period=1s")
	if err != nil || s.Profile != "sine:mean=1,amplitude=1,period=1s" || s.Duration != time.Minute || given.profile != "" {
		t.Errorf("%+v, %v", s, err)
	}
}
