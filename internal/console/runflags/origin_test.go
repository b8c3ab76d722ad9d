package runflags

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestFlagsBesideAFile: the flags that reports show of a run with a file of flows describe the same run, once the file
// is given again. What the file says is not among them: else it would be there twice.
func TestFlagsBesideAFile(t *testing.T) {
	dir := folder(t, map[string]string{"users.txt": "name\nAnn\nBo\n", "items.csv": "id\n7\n", "shop.yaml": buying + "rate: 400 flows/s\n",
		"timed.yaml": "flows: {a: [a: {get: 'http://127.0.0.1:1/'}]}\nrate: 5 requests/s\nduration: 1m\narrivals: poisson:3\npick: random\n",
		"ramp.yaml":  "flows: {a: [a: {get: 'http://127.0.0.1:1/'}]}\nrate: 5 requests/s\nstages: [10s:200, 20s:0]\n",
		"wave.yaml":  "flows: {a: [a: {get: 'http://127.0.0.1:1/'}, b: {get: 'http://127.0.0.1:1/'}]}\nprofile: 'sine:mean=10,amplitude=4,period=1m'\nduration: 5m\ncookies: true\n",
		"seats.yaml": "flows: {a: [a: {get: 'http://127.0.0.1:1/'}]}\nconcurrency: 8\n", "staged.yaml": "flows: {a: [a: {get: 'http://127.0.0.1:1/'}]}\nstages: [60s:c=8, 60s:c=16]\n",
		"slots.yaml":  "flows: {a: [a: {get: 'http://127.0.0.1:1/'}, b: {get: 'http://127.0.0.1:1/'}]}\nrate: 5 requests/s\nrate_of: requests\n",
		"traced.yaml": "flows: {a: [a: {get: 'http://127.0.0.1:1/'}]}\nrate: 5 requests/s\ntrace: true\ntrace_sampled: 1%\n",
		"alike.yaml":  "flows: {a: [a: {get: 'http://127.0.0.1:1/'}]}\nrate: 5 requests/s\n", "plain.txt": "GET http://127.0.0.1:1/ name=a\n"})
	items := filepath.Join(dir, "items.csv")
	for _, c := range []struct {
		flag, file string
		more       []string // they differ from the defaults, and are in the order of reports
	}{
		{"--workload", "shop.yaml", nil},
		{"--workload", "shop.yaml", []string{"--header", "Accept: a", "--expect", "200-204", "--check", "size < 10kB", "--qps", "6", "--duration", "5s", "--threshold", "errors:rate<1%"}},
		{"--workload", "shop.yaml", []string{"--header", "Accept: ${items.id}", "--data", items}},
		{"--workload", "shop.yaml", []string{"--stage", "30s:200"}},
		{"--workload", "alike.yaml", nil},
		{"--workload", "alike.yaml", []string{"--qps", "max"}},
		{"--workload", "timed.yaml", nil},
		{"--workload", "timed.yaml", []string{"--targets-pick", "cycle", "--duration", "0s", "--arrivals", "even"}},
		{"--workload", "timed.yaml", []string{"--qps", "5"}},
		{"--workload", "timed.yaml", []string{"--qps", "max", "--arrivals", "even"}},
		{"--workload", "timed.yaml", []string{"--stage", "5s:9"}},
		{"--workload", "ramp.yaml", nil},
		{"--workload", "ramp.yaml", []string{"--qps", "5", "--duration", "1m"}},
		{"--workload", "wave.yaml", nil},
		{"--workload", "wave.yaml", []string{"--qps", "6", "--duration", "7m"}},
		{"--workload", "seats.yaml", nil},
		{"--workload", "seats.yaml", []string{"--concurrency", "8"}},
		{"--workload", "seats.yaml", []string{"--qps", "max", "--duration", "1m"}},
		{"--workload", "seats.yaml", []string{"--qps", "6"}},
		{"--workload", "staged.yaml", nil},
		{"--workload", "staged.yaml", []string{"--stage", "5s:c=9"}},
		{"--workload", "alike.yaml", []string{"--concurrency", "8"}},
		{"--targets", "plain.txt", []string{"--targets-pick", "random", "--qps", "6", "--arrivals", "poisson:4"}},
		{"--workload", "wave.yaml", []string{"--rate-of", "requests"}},
		{"--workload", "slots.yaml", nil},
		{"--workload", "slots.yaml", []string{"--rate-of", "flows"}},
		{"--workload", "slots.yaml", []string{"--qps", "7", "--requests", "9", "--limiter", "token-bucket"}},
		{"--workload", "traced.yaml", nil},
		{"--workload", "traced.yaml", []string{"--trace-sampled", "0%", "--trace-url", "https://h/${trace_id}"}},
		{"--workload", "traced.yaml", []string{"--trace=false"}},
		{"--workload", "alike.yaml", []string{"--trace", "--trace-sampled", "5%"}},
		{"--targets", "plain.txt", []string{"--header", "Accept: a", "--check", "size < 10kB", "--qps", "6"}},
	} {
		_, want, err := reading(t, append([]string{c.flag, filepath.Join(dir, c.file)}, c.more...)...)
		if err != nil {
			t.Fatal(err)
		}
		set := want.Setting()
		if !slices.Contains(set.Withheld, c.flag) {
			t.Errorf("%s: withheld is %q", c.file, set.Withheld)
		}
		args := slices.Clone(set.Flags)
		for i, arg := range args[:len(args)-1] {
			switch arg {
			case c.flag:
				args[i+1] = filepath.Join(dir, c.file)
			case "--data":
				args[i+1] = items
			}
		}
		shown := slices.Clone(args[2:])
		if !slices.Equal(shown, c.more) {
			t.Errorf("%s: flags are %q, and %q were given", c.file, shown, c.more)
		}
		if _, got, err := reading(t, args...); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q\nis   %+v, %v\nwant %+v", c.file, args, got, err, want)
		}
	}
}

// TestFileOfFlows: what stands for a workload file tells files apart that differ in more than their flows.
func TestFileOfFlows(t *testing.T) {
	dir := folder(t, map[string]string{"users.txt": "name\nAnn\nBo\n", "others.txt": "name\nCy\nDi\n",
		"a.yaml": buying + "rate: 400 flows/s\n", "b.yaml": buying + "rate: 500 flows/s\n", "c.yaml": strings.Replace(buying, "users.txt", "others.txt", 1) + "rate: 400 flows/s\n"})
	seen := map[string]string{}
	for _, name := range []string{"a.yaml", "b.yaml", "c.yaml"} {
		_, s, err := reading(t, "--workload", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		flags := s.Setting().Flags
		if other, twice := seen[flags[1]]; twice {
			t.Errorf("%s and %s are both %s", other, name, flags[1])
		}
		seen[flags[1]] = name
	}
}
