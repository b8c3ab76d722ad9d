package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/report"
)

// ordering is a workload of flows that begin a job at the shop, ask until it is done, and then take one of two ways. Of each
// four flows the jobs are running 0, 1, 2 and 3 times when they are asked; what they cost decides about the way. Each fifth
// flow gives up.
const ordering = `
flows:
  order:
    - list: {get: /items}
    - set: {polls: "${ordinal} % 4"}
    - create: {post: /jobs, body: '{"polls": ${polls}}', take: {job: json id, state: json state}}
    - status: {get: "/jobs/${job}", while: '${state} == "running" && ${loop} < 20', after: 20ms, take: {state: json state}}
    - if: ${state} != "done"
      steps: [{fail: not done}]
    - result: {get: "/jobs/${job}/result", take: {total: json total}}
    - if: ${ordinal} % 5 == 4
      steps: [{fail: too expensive}]
    - if: ${total} > 70
      steps:
        - order: {get: /items/7}
      else:
        - leave: {get: /logout}
`

// orderRoutes are the routes of the shop and the steps that go there.
func orderRoutes() map[string]string {
	return map[string]string{"GET /items": "list", "POST /jobs": "create", "GET /jobs/{id}": "status", "GET /jobs/{id}/result": "result", "GET /items/{id}": "order", "GET /logout": "leave"}
}

// shopServer is a loadctl target with a shop, and a workload for it.
func shopServer(t *testing.T, b *bed) (server *process, file string) {
	t.Helper()
	address := "127.0.0.1:" + strconv.Itoa(redistest.FreePort(t))
	server = b.operator("target", "--shop", "--listen", address, "-o", "json")
	server.says("counting at ")
	file = filepath.Join(t.TempDir(), "order.yaml")
	if err := os.WriteFile(file, []byte("base: http://"+address+"\n"+ordering), 0o600); err != nil {
		t.Fatal(err)
	}
	return server, file
}

// countedBy ends a target, and returns what it counted.
func countedBy(t *testing.T, server *process) (s arrivals.Summary) {
	t.Helper()
	server.signal(syscall.SIGTERM)
	server.wait(0)
	if err := json.Unmarshal([]byte(server.Stdout.String()), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestConditions asserts that flows with a polling loop and a branch send what their file says: each step's requests are those
// that the target counted at its route, and each step accounts for all flows.
func TestConditions(t *testing.T) {
	besides(t)
	b := &bed{t: t, redis: redistest.Start(t)}
	server, file := shopServer(t, b)
	// 6.3 requests a flow: 2,000 requests a second in the acceptance run
	rate, seconds := scale(int64(20), 320), scale(int64(4), 60)
	flows := rate * seconds
	args := []string{"--workload", file, "--qps", fmt.Sprint(rate * 24), "--duration", fmt.Sprintf("%ds", seconds), "--min-workers", "2", "--catch-up", "5m", "--max-lag", "5m", "--permit-for", "5m"}
	ps := []*process{b.worker("order", args...), b.worker("order", args...)}
	for _, p := range ps {
		await.Closed(t, "the end of a worker", p.Exited)
		if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
			t.Fatalf("exit code %d, %s", code, p.Stderr.String())
		}
	}
	e := example{t: t, report: b.report("order"), target: countedBy(t, server)}
	e.arrived(orderRoutes())
	r := e.report
	if err := r.CheckAudit(); err != nil || r.Asked != flows || r.Audit.Sent != flows || !r.Complete {
		t.Errorf("asked %d, want %d, complete %v %v: %+v, %v", r.Asked, flows, r.Complete, r.Notes, r.Audit, err)
	}
	// Of 20 flows, 16 go on after the result. Jobs of 0, 1, 2 and 3 polls cost 64, 45, 2 and 83 at the shop.
	given := flows / 5
	for name, want := range map[string]report.StepReport{
		"list":   {Sent: flows},
		"create": {Sent: flows, Reached: flows},
		"status": {Sent: flows / 4 * (1 + 2 + 3 + 4), Reached: flows / 4 * (1 + 2 + 3 + 4)},
		"result": {Sent: flows, Reached: flows, Failed: given},
		"order":  {Sent: flows / 5, Reached: flows, Ended: given, Bypassed: flows - given - flows/5},
		"leave":  {Sent: flows - given - flows/5, Reached: flows, Ended: given, Bypassed: flows / 5},
	} {
		got := e.step(name)
		if got.Sent != want.Sent || got.Reached != want.Reached || got.Failed != want.Failed || got.Ended != want.Ended || got.Bypassed != want.Bypassed || got.Unfinished != 0 {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if failed := e.step("result").Errors; failed["flow too expensive"] != given || r.Audit.Failed != given {
		t.Errorf("failed: %v, %+v", failed, r.Audit)
	}
}

// TestConditionsSurvive asserts that each step accounts for all flows while the rate changes, a worker is killed in the middle
// of its flows, and the run is stopped.
func TestConditionsSurvive(t *testing.T) {
	besides(t)
	b := &bed{t: t, redis: redistest.Start(t)}
	server, file := shopServer(t, b)
	args := append(patient(), "--workload", file, "--qps", "1000", "--min-workers", "2", "--permit-for", "2s")
	ps := []*process{b.worker("order", args...), b.worker("order", args...)}
	sent := func(step string) (n int64) {
		for _, s := range b.report("order").Steps {
			if s.Name == step {
				n = s.Sent
			}
		}
		return n
	}
	b.members("order", 2)
	await.True(t, "50 ways", func() bool { return sent("leave") >= 50 })
	b.loadctl("set-rate", "order", "2500")
	at := sent("status")
	await.True(t, "300 more questions", func() bool { return sent("status") >= at+300 })
	ps[0].Kill()
	at = sent("leave")
	await.True(t, "100 more ways", func() bool { return sent("leave") >= at+100 })
	b.loadctl("stop", "order")
	ps[1].wait(0)
	r, target := b.report("order"), countedBy(t, server)
	if err := r.CheckAudit(); err != nil {
		t.Error(err)
	}
	var steps, unfinished int64
	for _, s := range r.Steps {
		if steps += s.Sent; s.Name == "list" {
			continue
		}
		unfinished += s.Unfinished
		if s.Reached != s.Sent+s.LateDropped+s.Ended+s.Bypassed+s.Unfinished || s.Bypassed == 0 && (s.Name == "order" || s.Name == "leave") {
			t.Errorf("%+v", s)
		}
	}
	if steps != r.Requests || r.Requests != r.Audit.Sent+r.Audit.Followed || unfinished == 0 {
		t.Errorf("%d requests by steps, %d unfinished, %+v", steps, unfinished, r.Audit)
	}
	for _, route := range target.Routes { // the killed worker may have sent what it did not report
		for _, s := range r.Steps {
			if orderRoutes()[route.Route] == s.Name && route.Requests < s.Sent-s.Errors["canceled"] {
				t.Errorf("%d requests at %s, and the report has %d", route.Requests, route.Route, s.Sent)
			}
		}
	}
}
