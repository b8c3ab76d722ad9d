package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/report"
)

// tills is a shop that checks that each flow carries its own token from step to step.
type tills struct {
	mu     sync.Mutex
	steps  map[string]int64
	logins map[string]int
	wrong  []string
	closed chan struct{} // requests wait until it is closed; nil = they do not wait
}

func (s *tills) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ User string }
	err := json.NewDecoder(r.Body).Decode(&in)
	step := strings.Trim(r.URL.Path, "/")
	s.mu.Lock()
	s.steps[step]++
	closed := s.closed
	switch {
	case err != nil || in.User == "":
		s.wrong = append(s.wrong, fmt.Sprint(step, ": ", err))
	case step == "login":
		s.logins[in.User]++
	case r.Header.Get("Authorization") != "Bearer token of "+in.User:
		s.wrong = append(s.wrong, step+" of "+in.User+" with "+r.Header.Get("Authorization"))
	}
	s.mu.Unlock()
	if closed != nil {
		<-closed
	}
	fmt.Fprintf(w, `{"token": "token of %s"}`, in.User)
}

// stall lets all requests wait that come from now on, until the returned function is called.
func (s *tills) stall() (open func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = make(chan struct{})
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.closed)
		s.closed = nil
	}
}

func (s *tills) count(step string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.steps[step]
}

func (s *tills) serve(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: s}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return listener.Addr().String()
}

// TestFlows: a flow carries what it took, and its row, from step to step. No row is used twice. Each step accounts for
// every flow that reached it, while a worker is killed, the endpoint stands still, the rate changes, and at a stop.
func TestFlows(t *testing.T) {
	nightly(t)
	t.Parallel()
	s := &tills{steps: map[string]int64{}, logins: map[string]int{}}
	file := buying(t, s.serve(t))
	b := &bed{t: t, redis: redistest.Start(t)}
	args := append(patient(), "--workload", file, "--qps", "300", "--min-workers", "3", "--permit-for", "2s")
	var ps []*process
	for range 3 {
		ps = append(ps, b.worker("shop", args...))
	}
	await.True(t, "100 payments", func() bool { return s.count("pay") >= 100 })
	open := s.stall()
	waiting := s.count("login")
	b.loadctl("set-rate", "shop", "600") // 200 flows
	await.True(t, "100 logins without an answer", func() bool { return s.count("login") >= waiting+100 })
	open()
	reported := map[string]int64{}
	for _, step := range b.report("shop").Steps {
		reported[step.Name] = step.Sent
	}
	ps[0].Kill()
	at := s.count("pay")
	await.True(t, "300 more payments", func() bool { return s.count("pay") >= at+300 })
	unknown := map[string]int64{} // how many requests of the killed worker may have arrived unreported
	for _, step := range []string{"login", "cart", "pay"} {
		unknown[step] = scale(s.count(step)-reported[step], 100) // 100: a second of its share
	}
	b.loadctl("pause", "shop") // flows on their way go on
	b.renewed("shop")
	b.renewed("shop")
	b.loadctl("resume", "shop")
	at = s.count("login")
	await.True(t, "200 more logins", func() bool { return s.count("login") >= at+200 })
	b.loadctl("stop", "shop")
	after := s.count("login") + s.count("cart") + s.count("pay")
	for _, p := range ps[1:] {
		p.wait(0)
	}
	s.judge(t, after)
	s.judgeReport(t, b.report("shop"), unknown)
}

// buying writes a workload of users who log in and pay, each once, at a shop. It returns its path.
func buying(t *testing.T, shop string) string {
	t.Helper()
	dir := t.TempDir()
	var users strings.Builder
	users.WriteString("name\n")
	for i := range 20_000 {
		fmt.Fprintf(&users, "u%d\n", i)
	}
	file := filepath.Join(dir, "shop.yaml")
	for name, text := range map[string]string{filepath.Join(dir, "users.csv"): users.String(), file: `
base: http://` + shop + `
data: {users: {csv: users.csv, pick: once}}
header: {Content-Type: application/json}
flows:
  buy:
    - login: {post: /login, json: {user: "${users.name}"}, take: {token: json token}}
    - cart: {at: 300ms, post: /cart, json: {user: "${users.name}"}, header: {Authorization: "Bearer ${token}"}}
    - pay: {after: 100ms, post: /pay, json: {user: "${users.name}"}, header: {Authorization: "Bearer ${token}"}}
`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// judge compares what arrived with what may: after is the number of requests when the run had stopped.
func (s *tills) judge(t *testing.T, after int64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if all := s.steps["login"] + s.steps["cart"] + s.steps["pay"]; acceptance() && all > after+3 { // requests on the wire may arrive after the command's last look
		t.Errorf("%d requests arrived after the stop", all-after)
	}
	if len(s.wrong) > 0 {
		t.Errorf("%d wrong requests: %.300q", len(s.wrong), s.wrong)
	}
	for user, times := range s.logins {
		if times > 1 {
			t.Errorf("%s logged in %d times", user, times)
		}
	}
}

// judgeReport compares a report with what arrived, of which some requests are unknown.
func (s *tills) judgeReport(t *testing.T, r report.Report, unknown map[string]int64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Audit.Followed == 0 || r.Requests != r.Audit.Sent+r.Audit.Followed {
		t.Errorf("%d requests, %+v", r.Requests, r.Audit)
	}
	if err := r.CheckAudit(); err != nil {
		t.Error(err)
	}
	var sent int64
	for _, step := range r.Steps {
		sent += step.Sent
		if step.Name != "login" && step.Reached != step.Sent+step.LateDropped+step.Ended+step.Unfinished {
			t.Errorf("%+v", step)
		}
		if arrived := s.steps[step.Name]; arrived < step.Sent-r.Errors["canceled"] || arrived > step.Sent+r.Audit.Lost+unknown[step.Name] {
			t.Errorf("%s: %d arrived, %+v", step.Name, arrived, step)
		}
	}
	if sent != r.Requests || len(r.Steps) != 3 {
		t.Errorf("%d sent by steps, %d in all", sent, r.Requests)
	}
	t.Logf("%+v\n%+v", r.Audit, r.Steps)
}
