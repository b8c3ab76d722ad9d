package e2e

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
)

// example is what became of a run of an example by two workers: what the report says, and what the target counted.
type example struct {
	t      *testing.T
	report report.Report
	target arrivals.Summary
}

// runExample runs examples/NAME/workload.yaml against loadctl target --shop. The file names 127.0.0.1:8080, and the flag
// --connect-to leads from there to the target.
func runExample(t *testing.T, name string, target []string, args ...string) example {
	t.Helper()
	b := &bed{t: t, redis: redistest.Start(t)}
	address := "127.0.0.1:" + strconv.Itoa(redistest.FreePort(t))
	server := b.operator(append([]string{"target", "--shop", "--listen", address, "-o", "json"}, target...)...)
	server.says("counting at ")
	file, err := filepath.Abs(filepath.Join("../../../examples", name, "workload.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	args = append(append(steadfast(), "--workload", file, "--connect-to", "127.0.0.1:8080:"+address, "--min-workers", "2"), args...)
	ps := []*process{b.worker("x", args...), b.worker("x", args...)}
	for _, p := range ps {
		await.Closed(t, "the end of a worker", p.Exited)
	}
	e := example{t: t}
	var code int
	e.report, code, _ = b.judged("x")
	for _, p := range ps { // thresholds of time are not for a busy machine
		if got := p.Cmd.ProcessState.ExitCode(); got != code || code != 0 && code != 98 && code != 99 {
			t.Fatalf("exit code %d, that of the report is %d, %s", got, code, p.Stderr.String())
		}
	}
	server.signal(syscall.SIGTERM)
	server.wait(0)
	if err := json.Unmarshal([]byte(server.Stdout.String()), &e.target); err != nil {
		t.Fatal(err)
	}
	return e
}

// adds checks the sums: slots are sent or have a reason, each step was sent or has a reason, and nothing has failed.
func (e example) adds(asked int64) {
	e.t.Helper()
	r := e.report
	if err := r.CheckAudit(); err != nil {
		e.t.Error(err)
	}
	if r.Asked != asked || r.Audit.Sent != asked || !r.Complete || r.Audit.Failed != 0 || r.Audit.InFlight != 0 {
		e.t.Errorf("asked %d, want %d, complete %v %v: %+v", r.Asked, asked, r.Complete, r.Notes, r.Audit)
	}
	for _, s := range r.Steps {
		if s.Reached > 0 && s.Reached != s.Sent+s.LateDropped+s.Ended+s.Unfinished || s.Unfinished != 0 || s.Failed != 0 || s.Completed != s.Sent {
			e.t.Errorf("step %+v", s)
		}
	}
	result := threshold.Passed
	if len(r.Invalid()) > 0 && !acceptance() {
		result = threshold.Undecided
	}
	for _, judged := range r.Thresholds {
		if judged.Threshold == "errors:rate<1%" && judged.Result != result {
			e.t.Errorf("%+v", judged)
		}
	}
}

// step returns a step of the report.
func (e example) step(name string) report.StepReport {
	e.t.Helper()
	for _, s := range e.report.Steps {
		if s.Name == name {
			return s
		}
	}
	e.t.Fatalf("the report has no step %s: %+v", name, e.report.Steps)
	return report.StepReport{}
}

// arrived checks that the target got at each route what the step of the report sent there, and nothing else.
func (e example) arrived(routes map[string]string) {
	e.t.Helper()
	var all int64
	for _, r := range e.target.Routes {
		var want int64
		if name := routes[r.Route]; name != "" {
			want = e.step(name).Sent
			if want == 0 {
				e.t.Errorf("step %s sent nothing", name)
			}
		}
		if r.Requests != want {
			e.t.Errorf("%d requests at %s, and the report has %d", r.Requests, r.Route, want)
		}
		all += r.Requests
	}
	if all != e.target.Total || all != e.report.Audit.Requests() {
		e.t.Errorf("%d requests at routes, %d at the target, and the report has %d", all, e.target.Total, e.report.Audit.Requests())
	}
}

// TestShopExample: 40 flows a second for 5 s, of which a tenth buys. The server takes 20 ms for each answer. On a quiet
// machine, what it says of its times is of the same order as the report.
func TestShopExample(t *testing.T) {
	nightly(t)
	besides(t)
	e := runExample(t, "shop", []string{"--latency", "20ms", "--unique", "header Idempotency-Key"}, "--duration", "5s")
	e.adds(200)
	for name, want := range map[string]int64{"list": 180, "item": 180, "login": 20, "cart": 20, "pay": 20} {
		if s := e.step(name); s.Sent != want {
			t.Errorf("%s: %d requests, want %d", name, s.Sent, want)
		}
	}
	if s := e.step("pay"); !s.FromAnswer || s.Reached != 20 {
		t.Errorf("%+v", s)
	}
	routes := map[string]string{"GET /items": "list", "GET /items/{id}": "item", "POST /login": "login", "POST /cart": "cart", "POST /pay": "pay"}
	e.arrived(routes)
	if u := e.target.Unique; len(u) != 1 || u[0].Values != 20 || u[0].Twice != 0 {
		t.Errorf("keys of payments: %+v", u)
	}
	service := e.report.ServiceTime.P99
	for _, r := range e.target.Routes {
		if routes[r.Route] == "" {
			continue
		}
		if there := r.Latency.P99; there < 20e6 || service < 20e6 || acceptance() && (there > 25*service || service > 25*there) {
			t.Errorf("%s: p99 %v at the target, and %v in the report", r.Route, time.Duration(there), time.Duration(service))
		}
	}
}

// TestItemsExample: 100 requests a second for 3 s, in shares of 7, 2 and 1. Ids come from the file.
func TestItemsExample(t *testing.T) {
	nightly(t)
	besides(t)
	e := runExample(t, "items-api", []string{"--unique", "header X-Request-Id", "--unique", "query id"}, "--duration", "3s")
	e.adds(300)
	for name, want := range map[string]int64{"read": 210, "list": 60, "write": 30} {
		if s := e.step(name); s.Sent != want {
			t.Errorf("%s: %d requests, want %d", name, s.Sent, want)
		}
	}
	e.arrived(map[string]string{"GET /items/{id}": "read", "GET /items": "list", "/echo": "write"})
	if u := e.target.Unique; len(u) != 2 || u[0].Values != 30 || u[0].Twice != 0 || u[1].Values < 10 {
		t.Errorf("ids of writes: %+v", u)
	}
}

// TestDayExample: a day in 12 s. Each second has as many requests as two hours of the file, at a thousandth of its rates.
func TestDayExample(t *testing.T) {
	nightly(t)
	besides(t)
	seconds := daySeconds(t)
	var asked, most int64
	for _, n := range seconds {
		asked, most = asked+n, max(most, n)
	}
	file, err := filepath.Abs("../../../examples/replayed-day/day.csv")
	if err != nil {
		t.Fatal(err)
	}
	e := runExample(t, "replayed-day", nil, "--profile", "replay:"+file+",speed=7200,scale=0.001")
	e.adds(asked)
	e.arrived(map[string]string{"GET /items/{id}": "GET /items/*", "GET /items": "GET /items", "POST /login": "POST /login"})
	if len(e.report.Series) < len(seconds) {
		t.Fatalf("%d seconds in the report, want %d", len(e.report.Series), len(seconds))
	}
	// A request that is late by up to d may arrive in a later second. The seconds of the target begin with its first
	// arrival, which may be late too.
	late := time.Duration(e.report.Lag.Max + e.report.ServiceTime.Max).Seconds()
	allowed := int64(2*float64(most)*late) + 2
	for i, want := range seconds {
		if got := e.report.Series[i].Asked; got != want {
			t.Errorf("second %d: asked %d, want %d", i, got, want)
		}
		var there int64
		if i < len(e.target.PerSecond) {
			there = e.target.PerSecond[i].Requests
		}
		if there < want-allowed || there > want+allowed {
			t.Errorf("second %d: %d arrived, want %d ± %d", i, there, want, allowed)
		}
	}
}

// daySeconds returns how many requests each second of the replay has: of two rows of an hour each.
//
//	3600 s · (rate + next rate) · scale
func daySeconds(t *testing.T) (all []int64) {
	t.Helper()
	content, err := os.ReadFile("../../../examples/replayed-day/day.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	if err != nil || len(rows) != 25 {
		t.Fatal(len(rows), err)
	}
	for i := 1; i < len(rows); i += 2 {
		a, err := strconv.ParseInt(rows[i][1], 10, 64)
		b, err2 := strconv.ParseInt(rows[i+1][1], 10, 64)
		if n := 3600 * (a + b); err != nil || err2 != nil || n%1000 != 0 {
			t.Fatalf("%v, %v: rates have to make whole requests", rows[i], rows[i+1])
		} else {
			all = append(all, n/1000)
		}
	}
	return all
}
