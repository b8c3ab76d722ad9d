package runflags

import (
	"strings"
	"testing"
)

// TestConcurrencyFlags: --concurrency, and stages with one, make the run a closed loop; beside a rate they are refused in one line.
func TestConcurrencyFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		n    int64
	}{
		{[]string{"--concurrency", "8"}, 8},
		{[]string{"--concurrency", "8", "--qps", "max", "--duration", "3s"}, 8},
		{[]string{"--stage", "60s:c=8", "--stage", "60s:c=64"}, 0},
	} {
		_, s, err := reading(t, append(c.args, "--url", "http://a/")...)
		if err != nil || !s.Max || s.Concurrency != c.n || !s.Seated() || s.Validate() != nil {
			t.Errorf("%q: %+v, %v", c.args, s, err)
		}
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--concurrency", "8", "--qps", "100"}, "--qps and --concurrency: a run has a rate, or a number of requests in flight; give one of them"},
		{[]string{"--stage", "60s:c=8", "--qps", "100"}, "--qps and --stage DURATION:c=N: a run has a rate, or a number of requests in flight; leave one of them out"},
		{[]string{"--stage", "60s:c=8", "--stage", "60s:100"}, "--stage: one has a rate, another one a concurrency"},
		{[]string{"--stage", "60s:c=8", "--concurrency", "2"}, "--concurrency and --stage: each stage has a concurrency of its own"},
		{[]string{"--stage", "60s:c=8", "--duration", "2m"}, "--stage and --duration"},
		{[]string{"--stage", "60s:c=0"}, `stage "60s:c=0": concurrency "c=0": give a number from 1 to 1000000, such as c=64`},
		{[]string{"--concurrency", "8", "--profile", "steps:from=1,to=5,by=1,every=1s"}, "--profile and a concurrency"},
		{[]string{"--concurrency", "8", "--limiter", "gcra"}, "--limiter gcra and --concurrency: without a rate there is nothing to limit"},
		{[]string{"--concurrency", "8", "-n", "5"}, "--concurrency and --requests: "},
	} {
		_, _, err := reading(t, append(c.args, "--url", "http://a/")...)
		if err == nil || !strings.HasPrefix(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", c.args, err, c.says)
		}
	}
	for _, text := range []string{"0", "-1", "1.5", "", "1000001", "c=8"} {
		if err := new(concurrency).Set(text); err == nil {
			t.Errorf("--concurrency %q is accepted", text)
		}
	}
}
