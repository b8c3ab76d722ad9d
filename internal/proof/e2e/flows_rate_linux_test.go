package e2e

import (
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/evenness"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/report"
)

// senders counts the requests at a handler by the worker that sent them, and notes when they came.
type senders struct {
	http.Handler
	mu   sync.Mutex
	from map[string]int64
	came []int64
}

func (s *senders) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.came = append(s.came, time.Now().UnixNano())
	s.from[r.Header.Get("X-Worker")]++
	s.mu.Unlock()
	s.Handler.ServeHTTP(w, r)
}

func (s *senders) arrived() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.came))
}

// TestRateOfRequests: where each request has a slot, as many requests arrive as slots were sent, and each step accounts for every
// flow that reached it, while the rate changes and a worker is killed in the middle of its flows. -n counts requests.
func TestRateOfRequests(t *testing.T) {
	t.Parallel()
	const requests = 2500
	shop := &tills{steps: map[string]int64{}, logins: map[string]int{}}
	s := &senders{Handler: shop, from: map[string]int64{}}
	b := &bed{t: t, redis: redistest.Start(t)}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	file := paying(t, web.URL)
	args := append(patient(), "--workload", file, "-n", "2500", "--min-workers", "2", "--permit-for", "2s")
	killed, left := b.worker("slots", append(args, "--id", "w0")...), b.worker("slots", append(args, "--id", "w1")...)
	await.True(t, "100 payments", func() bool { return shop.count("pay") >= 100 })
	even := s.arrived()
	b.loadctl("set-rate", "slots", "450")
	await.True(t, "200 requests more", func() bool { return s.arrived() >= even+200 })
	killed.Kill()
	left.wait(0)
	r := b.report("slots")
	if r.Audit.Asked != requests || r.Audit.Followed != 0 || r.Audit.Failed != 0 {
		t.Errorf("%+v", r.Audit)
	}
	sent := map[string]int64{}
	for _, w := range r.Workers {
		sent[w.ID] = w.Sent
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.from["w1"] != sent["w1"] || s.from["w0"] < sent["w0"] || s.from["w0"] > sent["w0"]+r.Audit.Lost+r.Audit.Overrun {
		t.Errorf("%v arrived, %v were counted, %+v", s.from, sent, r.Audit)
	}
	slotSteps(t, r, shop)
	shop.judge(t, math.MaxInt64-3) // tokens and logins; the run was not stopped
	v := evenness.GapVariation(s.came[:even])
	if t.Logf("gaps vary by %.3f; %+v", v, r.Audit); acceptance() && v > 0.2 {
		t.Errorf("gaps vary by %.3f", v)
	}
}

// slotSteps compares the steps of a report with its slots, and with what arrived.
func slotSteps(t *testing.T, r report.Report, shop *tills) {
	t.Helper()
	var sent int64
	for _, step := range r.Steps {
		sent += step.Sent
		if step.Ended != 0 || step.FromAnswer || step.Name != "login" && step.Reached != step.Sent+step.LateDropped+step.Unfinished {
			t.Errorf("%+v", step)
		}
		if arrived := shop.count(step.Name); arrived < step.Sent || arrived > step.Sent+r.Audit.Lost+r.Audit.Overrun {
			t.Errorf("%s: %d arrived, %+v", step.Name, arrived, step)
		}
	}
	if sent != r.Audit.Sent || len(r.Steps) != 3 {
		t.Errorf("%d sent by steps, %+v", sent, r.Audit)
	}
}

// paying writes a workload of users who log in and pay at a shop, with a slot for each request. It returns its path.
func paying(t *testing.T, shop string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "slots.yaml")
	text := `
base: ` + shop + `
rate: 300 requests/s
rate_of: requests
header: {Content-Type: application/json, X-Worker: "${worker}"}
flows:
  buy:
    - login: {post: /login, json: {user: "u${ordinal}"}, take: {token: json token}}
    - cart: {at: 300ms, post: /cart, json: {user: "u${ordinal}"}, header: {Authorization: "Bearer ${token}"}}
    - pay: {after: 100ms, post: /pay, json: {user: "u${ordinal}"}, header: {Authorization: "Bearer ${token}"}}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
