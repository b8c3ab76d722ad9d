package runflags

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/targets"
)

// folder writes files into a new folder, and returns it.
func folder(t *testing.T, contents map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range contents {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// reading returns what flags say.
func reading(t *testing.T, args ...string) (*Spec, spec.Spec, error) {
	t.Helper()
	f := &Spec{MinWorkers: 1}
	c := &cobra.Command{}
	f.AddFlags(c)
	if err := c.ParseFlags(args); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	s, err := f.Spec(strings.NewReader(""))
	return f, s, err
}

// buying has flows of 3 steps and of 1, in shares of 1 and 9: 1.2 requests each.
const buying = `
base: http://127.0.0.1:1
data: {users: {csv: users.txt, pick: once}}
mix: {buy: 1, browse: 9}
header: {X-A: file}
flows:
  buy:
    - login: {post: /login, json: {user: "${users.name}"}, check: [status 200]}
    - cart: {at: 2s, get: /cart, header: {X-B: step}}
    - pay: {after: 500ms, post: /pay, body: a=1}
  browse: [list: {get: /}]
thresholds: ["latency{step=pay}:p(99)<300ms"]
`

func TestWorkload(t *testing.T) {
	dir := folder(t, map[string]string{"users.txt": "name\nAnn\nBo\n", "shop.yaml": buying, "items.csv": "id\n7\n"})
	f, s, err := reading(t, "--workload", filepath.Join(dir, "shop.yaml"), "--qps", "480", "--threshold", "errors:rate<1%", "-H", "X-A: flag", "-H", "X-B: flag",
		"-H", "X-C: ${items.id}", "--check", "size < 10kB", "--expect", "200-204", "--data", filepath.Join(dir, "items.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if s.QPS.String() != "400" || s.Requests != 28 || fmt.Sprint(s.Thresholds) != "[errors:rate<1% latency{step=pay}:p(99)<300ms]" { // slot 28 is the third purchase, and there are two rows
		t.Errorf("%v flows/s, %d requests, %q", s.QPS, s.Requests, s.Thresholds)
	}
	if d := s.Target.Data; len(d) != 2 || d[0].Name != "items" || d[1].Name != "users" || d[1].Pick != "once" || d[1].Rows != 2 || f.Data().Files[d[1].SHA256].Name != "users.txt.csv" {
		t.Errorf("%+v", d)
	}
	var got strings.Builder
	for _, flow := range s.Target.Flows {
		for _, step := range flow.Steps {
			fmt.Fprintln(&got, flow.Name, flow.Weight, step.Name, step.Method, step.Headers, step.Expect, step.Checks)
		}
	}
	want := `buy 1 login POST [{Content-Type application/json} {X-A file} {X-B flag} {X-C ${items.id}}]  [status 200 size < 10kB]
buy 1 cart GET [{X-B step} {X-A file} {X-C ${items.id}}] 200-204 [size < 10kB]
buy 1 pay POST [{X-A file} {X-B flag} {X-C ${items.id}} {Content-Type application/x-www-form-urlencoded}] 200-204 [size < 10kB]
browse 9 list GET [{X-A file} {X-B flag} {X-C ${items.id}}] 200-204 [size < 10kB]
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	set := s.Setting()
	flags := strings.Join(set.Flags, " ")
	if !strings.Contains(flags, "--workload [2 flows, SHA-256 ") || !strings.Contains(flags, "--qps 480 ") || strings.Contains(flags, "--targets") || set.Withheld[0] != "--workload" {
		t.Errorf("%q", set)
	}
}

// TestWorkloadRate: who says the rate, and in which unit.
func TestWorkloadRate(t *testing.T) {
	const several, single = "flows: {f: [a: {get: 'http://a/'}, b: {get: 'http://a/'}]}\n", "flows: {f: [a: {get: 'http://a/'}]}\n"
	for _, c := range []struct {
		file  string
		flags []string
		want  string
	}{
		{several + "rate: 400 flows/s", nil, "400"},
		{several + "rate: 400 requests/s", nil, "200"},
		{several + "rate: 400 flows/s", []string{"--qps", "100"}, "50"},
		{several + "rate: 400 flows/s", []string{"--rate", "1"}, "1/2s"},
		{single + "rate: 400 flows/s", []string{"--qps", "max"}, "max"},
		{several, []string{"--qps", "100"}, "50"},
		{single + "rate: 400 requests/s", nil, "400"},
		{single + "rate: 400 flows/s", []string{"--stage", "30s:200"}, "0"},
		{single, []string{"--profile", "sine:mean=1k,amplitude=400,period=1m"}, "0"},
		{single, []string{"--qps", "5", "-n", "10"}, "5"},
		{several, []string{"--qps", "100", "--stage", "30s:200"}, "50"},
		{several, []string{"--stage", "30s:200"}, "0"},
	} {
		file := filepath.Join(folder(t, map[string]string{"w.yaml": c.file}), "w.yaml")
		_, s, err := reading(t, append(c.flags, "--workload", file)...)
		if err != nil || s.Asks() != c.want {
			t.Errorf("%s %q: %s, %v, want %s", c.file, c.flags, s.Asks(), err, c.want)
		}
	}
}

// TestCurvesOfFlows: stages, profiles and -n count requests, and their flags can be read again.
func TestCurvesOfFlows(t *testing.T) {
	const file = "flows: {f: [a: {get: 'http://a/'}, b: {get: 'http://a/'}], g: [c: {get: 'http://a/'}]}\nmix: {f: 1, g: 4}" // 6 requests in 5 flows
	for _, c := range []struct {
		flags    []string
		peak     float64
		requests int64
		command  string
	}{
		{[]string{"--qps", "60", "--stage", "30s:600"}, 500, 0, "--qps 60 --stage 30s:600"},
		{[]string{"--profile", "spike:base=120,peak=1.2k,every=5m,for=30s"}, 1000, 0, "--profile spike:base=120,peak=1.2k,every=5m,for=30s"},
		{[]string{"--profile", "sine:mean=1k,amplitude=400,period=1m"}, 1400 * 5 / 6., 0, ""},
		{[]string{"--qps", "60", "-n", "600"}, 50, 500, "--qps 60 --requests 600"},
		{[]string{"--qps", "60", "-n", "601"}, 50, 500 + 1, "--requests 601"}, // g comes first
	} {
		path := filepath.Join(folder(t, map[string]string{"w.yaml": file}), "w.yaml")
		_, s, err := reading(t, append(c.flags, "--workload", path)...)
		if err != nil {
			t.Error(err)
			continue
		}
		if peak := s.Peak(); math.Abs(peak-c.peak) > 0.001 || s.Requests != c.requests {
			t.Errorf("%q: peak %v, %d flows", c.flags, peak, s.Requests)
		}
		if again := strings.Join(s.Setting().Flags, " "); !strings.Contains(again, c.command) {
			t.Errorf("%q: the flags are %s", c.flags, again)
		}
	}
}

// TestOfWorkload: a file without a rate can be checked, and not be run.
func TestOfWorkload(t *testing.T) {
	dir := folder(t, map[string]string{"users.txt": "name\nAnn\nBo\n", "shop.yaml": buying})
	for qps, want := range map[string]bool{"": false, "48": true} {
		s, data, rated, err := OfWorkload(filepath.Join(dir, "shop.yaml"), qps)
		if err != nil || rated != want || len(data.Tables) != 1 || rated && s.QPS.String() != "40" {
			t.Errorf("--qps %q: %v, %v, %v", qps, s.QPS, rated, err)
		}
	}
}

// manyFiles names a file as 17 data files.
func manyFiles(name string) string {
	var all []string
	for i := range 17 {
		all = append(all, fmt.Sprintf("d%d: {csv: %s}", i, name))
	}
	return strings.Join(all, ", ")
}

func TestBadWorkloads(t *testing.T) {
	const step, several = "flows:\n  f:\n  - s: {get: 'http://a/%s'}\n", "flows: {f: [a: {get: 'http://a/'}, b: {get: 'http://a/'}]}\n"
	plain := fmt.Sprintf(step, "")
	csv := "data: {u: {csv: u.csv}}\n" + fmt.Sprintf(step, "${u.a}")
	for _, c := range []struct {
		file  string
		flags []string
		want  string
	}{
		{plain, nil, "--qps: give the rate of the whole cluster"},
		{plain, []string{"--url", "http://a/"}, "--workload: the file says what is requested; leave --url, --method, --body and --reply out"},
		{plain, []string{"--method", "PUT"}, "--workload: the file says"},
		{plain, []string{"--body", "x"}, "--workload: the file says"},
		{plain, []string{"--body-file", "workload_test.go"}, "--workload: the file says"},
		{plain, []string{"--targets", "t"}, "--targets and --workload: both say what is requested; give one of them"},
		{fmt.Sprintf(step, "${u.a}"), []string{"--qps", "5"}, "w.yaml:3:5: url: ${u.a}: there is no data file"},
		{"flows: {'a': [{'b{': {get: 'http://a/'}}]}", []string{"--qps", "5"}, `w.yaml:1:16: name "b{": leave out braces`},
		{"flows: {f: [s: {get: 'http://a/', expect: x}]}", []string{"--qps", "5"}, "w.yaml:1:13: expect:"},
		{"flows: {f: [s: {get: 'http://a/', chek: x}]}", []string{"--qps", "5"}, `w.yaml:1:35: there is no key "chek"; did you mean check?`},
		{csv, []string{"--qps", "5"}, "w.yaml:1:8: open "},
		{csv, []string{"--qps", "5", "--data", "u.csv"}, "u.csv"},
		{"data: {" + manyFiles("none.csv") + "}\n" + plain, []string{"--qps", "5"}, "w.yaml:1:8: at most 16 data files"}, // before they are read
		{"data: {u.v: {csv: x.csv}}\n" + plain, []string{"--qps", "5"}, `w.yaml:1:8: "u.v" cannot be a name`},
		{"data: {x: {csv: x.csv}}\n" + plain, []string{"--qps", "5"}, "w.yaml:1:8: no placeholder uses x; write ${x.COLUMN} in a step"},
		{"data: {x: {csv: x.csv}}\n" + fmt.Sprintf(step, "${x.b}"), []string{"--qps", "5"}, "w.yaml:4:5: url: ${x.b}: the file has no such column; use one of ${x.a}"},
		{"data: {x: {csv: x.csv, pick: once}}\n" + fmt.Sprintf(step, "${x.a}"), []string{"--qps", "5", "-n", "9"}, "--requests: the rows of the data file with pick=once are used up at request 1; give at most so many"},
		{"data: {x: {csv: x.csv, pick: once}}\nflows: {a: [a: {get: 'http://a/${x.a}'}, b: {get: 'http://a/'}], b: [c: {get: 'http://a/'}]}", []string{"--qps", "5", "-n", "9"}, "used up at request 3;"}, // a flow of two and one of one; the next one would need a row
		{"data: {x: {csv: x.csv}}\n" + fmt.Sprintf(step, "${x.a}"), []string{"--qps", "5", "--data", "x.csv"}, "w.yaml:1:8: --data has a file called x too"},
		{several, []string{"--qps", "5", "-n", "1"}, "--requests 1: the first flow has 2 steps; give at least so many"},
		{several, []string{"--qps", "5", "--rate-of", "steps"}, `--rate-of "steps": write one of flows, requests`},
		{several, []string{"--qps", "max", "--rate-of", "requests"}, "--qps max and flows of several steps"},
		{"rate: 5 flows/s\nrate_of: requests\n" + several, nil, "w.yaml:1:7: it counts flows, and by rate_of each request has a slot; write rate: 480 requests/s"},
		{"rate: 5 flows/s\n" + several, []string{"--rate-of", "requests"}, "w.yaml:1:7: it counts flows"},
		{"rate_of: requests\ndata: {x: {csv: x.csv, pick: once}}\nflows: {a: [a: {get: 'http://a/${x.a}'}, b: {get: 'http://a/'}]}", []string{"--qps", "5"}, "x has pick=once, and with the rate of requests it is not known before which slots begin flows; take the rate of flows, or another pick"},
		{several, []string{"--qps", "5", "--limiter", "token-bucket"}, "add --rate-of requests, or leave --limiter out"},
		{"thresholds: ['latency{step=x}:p(99)<1s']\n" + plain, []string{"--qps", "5"}, `w.yaml:1:14: there is no step "x"; write the name of one`},
	} {
		dir := folder(t, map[string]string{"w.yaml": c.file, "x.csv": "a\n1\n"})
		for i, flag := range c.flags {
			if flag == "x.csv" {
				c.flags[i] = filepath.Join(dir, flag)
			}
		}
		_, _, err := reading(t, append(c.flags, "--workload", filepath.Join(dir, "w.yaml"))...)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || cli.Code(err) != cli.CodeConfig {
			t.Errorf("%s %q: %v, want %s", c.file, c.flags, err, c.want)
		}
	}
	if _, _, err := reading(t, "--workload", "none.yaml"); err == nil || !strings.Contains(err.Error(), "--workload: open none.yaml: no such file or directory; give the path") {
		t.Error(err)
	}
}

// TestTargetsPick: the order of flows, by a file and by a flag, which wins. The flags of a report say it.
func TestTargetsPick(t *testing.T) {
	const flows = "flows: {f: [a: {get: 'http://a/'}], g: [b: {get: 'http://a/'}]}\n"
	dir := folder(t, map[string]string{"plain.yaml": flows, "random.yaml": flows + "pick: random", "cycle.yaml": flows + "pick: cycle", "t.txt": "http://a/\nhttp://b/\n"})
	for _, c := range []struct{ kind, file, flag, want string }{
		{"--workload", "plain.yaml", "", ""}, {"--workload", "cycle.yaml", "", ""}, {"--workload", "random.yaml", "", "random"}, {"--targets", "t.txt", "", ""},
		{"--workload", "plain.yaml", "random", "random"}, {"--workload", "cycle.yaml", "random", "random"}, {"--workload", "random.yaml", "cycle", ""},
		{"--targets", "t.txt", "random", "random"}, {"--targets", "t.txt", "cycle", ""},
	} {
		args := []string{c.kind, filepath.Join(dir, c.file), "--qps", "5"}
		if c.flag != "" {
			args = append(args, "--targets-pick", c.flag)
		}
		_, s, err := reading(t, args...)
		if err != nil || s.Target.Pick != c.want {
			t.Errorf("%+v: %q, %v", c, s.Target.Pick, err)
		}
		if flags := strings.Join(s.Setting().Flags, " "); strings.Contains(flags, "pick random") != (c.want != "") || strings.Contains(flags, "pick cycle") != (c.file == "random.yaml" && c.flag == "cycle") {
			t.Errorf("%+v: %s", c, flags)
		}
	}
}

// TestRateOfRequests: where each request has a slot, the rate, its stages and -n are slots as they stand. Without flows of several
// steps that is so in any case.
func TestRateOfRequests(t *testing.T) {
	const three, one = "flows: {f: [a: {get: 'http://a/'}, b: {get: 'http://a/'}, c: {get: 'http://a/'}]}\n", "data: {x: {csv: x.csv, pick: once}}\nflows: {f: [a: {get: 'http://a/${x.a}'}]}\n"
	dir := folder(t, map[string]string{"x.csv": "a\n1\n", "plain.yaml": three, "said.yaml": three + "rate_of: requests\nrate: 480 requests/s\n", "single.yaml": one + "rate_of: requests\nrate: 7 flows/s"})
	for _, c := range []struct {
		file     string
		flags    []string
		qps      string
		requests int64
	}{
		{"said.yaml", nil, "480", 0}, {"said.yaml", []string{"-n", "10"}, "480", 10}, {"said.yaml", []string{"--rate-of", "flows", "-n", "10"}, "160", 3},
		{"plain.yaml", []string{"--rate-of", "requests", "--qps", "500", "-n", "1"}, "500", 1}, {"single.yaml", nil, "7", 1},
	} {
		_, s, err := reading(t, append(c.flags, "--workload", filepath.Join(dir, c.file))...)
		if err != nil || s.QPS.String() != c.qps || s.Requests != c.requests {
			t.Errorf("%+v: %v slots/s, %d, %v", c, s.QPS, s.Requests, err)
		}
		if file := s.Setting().Flags[1]; strings.Contains(file, "rate of requests") != (strings.HasPrefix(c.file, "s") && s.Target.RateOf != "") {
			t.Errorf("%+v: the report has %s", c, file)
		}
	}
	_, s, err := reading(t, "--workload", filepath.Join(dir, "plain.yaml"), "--rate-of", "requests", "--stage", "10s:300")
	if err != nil || s.Peak() != 300 {
		t.Errorf("%v slots/s at most, %v", s.Peak(), err)
	}
	if _, _, err := reading(t, "--url", "http://a/", "--qps", "5", "--rate-of", "requests"); err == nil || err.Error() != "--rate-of: without flows the rate is of requests; give --workload FILE, or leave it out" {
		t.Error(err)
	}
}

// TestWorkloadSchedule: what a file says of the rate over time, and that flags win.
func TestWorkloadSchedule(t *testing.T) {
	const single, ramp = "flows: {f: [a: {get: 'http://a/'}]}\n", "stages: [10s:200, 20s:0]\n"
	const several = "flows: {f: [a: {get: 'http://a/'}, b: {get: 'http://a/'}]}\n"
	const seats, staged = "concurrency: 8\nduration: 1m\n", "stages: [60s:c=8, 60s:c=16]\n"
	const wave, timed = "profile: 'sine:mean=10,amplitude=4,period=1m'\n", "rate: 5 flows/s\nduration: 1m\narrivals: poisson:3\n"
	for _, c := range []struct {
		file  string
		flags []string
		want  string // the flags of the schedule
	}{
		{single + timed, nil, "--qps 5 --duration 1m --arrivals poisson:3"},
		{single + timed, []string{"--duration", "0", "--arrivals", "even"}, "--qps 5"},
		{single + timed, []string{"--duration", "2m", "--arrivals", "poisson"}, "--qps 5 --duration 2m --arrivals poisson"},
		{single + timed, []string{"--qps", "max", "--arrivals", "even"}, "--qps max --duration 1m"},
		{single + timed, []string{"--stage", "5s:9"}, "--stage 5s:9 --arrivals poisson:3"},
		{single + timed, []string{"--profile", "sine:mean=2,amplitude=1,period=1m"}, "--duration 1m --profile sine:mean=2,amplitude=1,period=1m --arrivals poisson:3"},
		{single + ramp, nil, "--stage 10s:200 --stage 20s:0"},
		{single + ramp, []string{"--qps", "7", "--duration", "1m"}, "--qps 7 --duration 1m"},
		{several + ramp + "rate: 100 flows/s", nil, "--qps 200 --stage 10s:200 --stage 20s:0"},
		{several + ramp + "rate: 100 requests/s", nil, "--qps 100 --stage 10s:200 --stage 20s:0"},
		{single + ramp + "rate: 100 requests/s", []string{"--stage", "5s:9"}, "--stage 5s:9"},
		{single + wave, nil, "--profile sine:mean=10,amplitude=4,period=1m"},
		{single + wave + "duration: 5m", nil, "--duration 5m --profile sine:mean=10,amplitude=4,period=1m"},
		{single + wave, []string{"--rate", "7"}, "--qps 7"},
		{single + wave, []string{"--stage", "5s:9"}, "--stage 5s:9"},
		{single + seats, nil, "--concurrency 8 --duration 1m"},
		{single + seats, []string{"--qps", "7"}, "--qps 7 --duration 1m"},
		{single + seats, []string{"--qps", "max"}, "--qps max --duration 1m"},
		{single + seats, []string{"--concurrency", "9", "--duration", "0"}, "--concurrency 9"},
		{single + staged, nil, "--stage 60s:c=8 --stage 60s:c=16"},
		{single + staged, []string{"--stage", "5s:9"}, "--stage 5s:9"},
		{single + ramp, []string{"--concurrency", "9"}, "--concurrency 9"},
	} {
		_, s, err := reading(t, append(c.flags, "--workload", filepath.Join(folder(t, map[string]string{"w.yaml": c.file}), "w.yaml"))...)
		if err != nil {
			t.Errorf("%s %q: %v", c.file, c.flags, err)
			continue
		}
		s.Target, s.Origin = targets.Spec{Flows: s.Target.Flows}, nil // all flags, whoever said it
		flags := s.Setting().Flags
		if got := strings.Join(flags[2:], " "); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.file, c.flags, got, c.want)
		}
	}
	for _, c := range []struct {
		file  string
		flags []string
		want  string
	}{
		{single + timed, []string{"--qps", "max"}, "w.yaml:4:11: arrivals: a closed loop and --limiter space requests themselves; leave it out, or add --arrivals even"},
		{single + timed, []string{"--limiter", "token-bucket"}, "w.yaml:4:11: arrivals: a closed loop and --limiter"},
		{single + seats, []string{"--limiter", "token-bucket"}, "--limiter token-bucket and --concurrency: without a rate there is nothing to limit; give a rate, or leave --limiter out"},
		{single + seats, []string{"-n", "5"}, "--concurrency and --requests: without a rate"},
		{single + staged, []string{"--duration", "1m"}, "w.yaml:2:9: --stage and --duration: the stages' lengths are the duration, leave --duration out"},
		{several + seats, nil, "w.yaml:1:36: a closed loop has flows of one step"},
		{several, []string{"--concurrency", "8"}, "--concurrency and flows of several steps: without a rate no slot starts a flow; give a rate"},
		{single + ramp, []string{"--duration", "1m"}, "w.yaml:2:9: --stage and --duration: the stages' lengths are the duration, leave --duration out"},
		{single + "stages: 0s:5", nil, "w.yaml:2:9: profile: it has no length; give a stage or a duration above zero"},
		{single + "rate: 5 flows/s\nduration: 9999d", nil, "w.yaml:3:11: --duration: give a time up to"},
		{single + "duration: 1m", nil, "w.yaml:2:11: --qps: give the rate of the whole cluster"},
	} {
		_, _, err := reading(t, append(c.flags, "--workload", filepath.Join(folder(t, map[string]string{"w.yaml": c.file}), "w.yaml"))...)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %q: %v, want %s", c.file, c.flags, err, c.want)
		}
	}
}
