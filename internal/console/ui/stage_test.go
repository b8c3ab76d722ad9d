package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
)

// A stage serves the page as a Server does, with frames that a test makes: so a test has ten minutes of a run at once.
type stage struct {
	*httptest.Server
	whole  func() Frame      // what a page that connects gets
	frames chan []byte       // what it gets then
	runs   []run.Entry       // the list
	others map[string][]byte // further answers, by path and query
	mu     sync.Mutex
	mux    *http.ServeMux
}

// newStage starts a stage, which ends with the test.
func newStage(t testing.TB, whole func() Frame) *stage {
	t.Helper()
	s := &stage{whole: whole, frames: make(chan []byte), others: map[string][]byte{}}
	mux := http.NewServeMux()
	s.mux = mux
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { s.file(w, "index.html") })
	mux.HandleFunc("GET /web/{name}", func(w http.ResponseWriter, r *http.Request) { s.file(w, r.PathValue("name")) })
	mux.HandleFunc("GET /api/v1/runs", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, listing{Control: true, Version: "1.4.0", Runs: s.runs, Archives: []ArchiveEntry{}})
	})
	mux.HandleFunc("GET /api/v1/runs/{run}/live", s.live)
	mux.HandleFunc("GET /api/v1/compare", func(w http.ResponseWriter, r *http.Request) {
		if text := s.others[r.URL.String()]; text != nil {
			send(w, http.StatusOK, text)
			return
		}
		refuse(w, http.StatusConflict, "the runs had different rates; add force=1 to compare them anyway")
	})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// handle adds what a test answers itself.
func (s *stage) handle(pattern string, serve http.HandlerFunc) { s.mux.HandleFunc(pattern, serve) }

// file serves a file of the page.
func (s *stage) file(w http.ResponseWriter, name string) {
	text, err := content(name)
	if err != nil {
		refuse(w, http.StatusNotFound, err.Error())
		return
	}
	w.Header().Set("Content-Type", contentType(name))
	_, _ = w.Write(text)
}

// live sends the whole frame, and then each that the test gives.
func (s *stage) live(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	s.mu.Lock()
	first, err := json.Marshal(s.whole())
	s.mu.Unlock()
	if err != nil {
		return
	}
	for text := first; ; {
		fmt.Fprintf(w, "event: frame\ndata: %s\n\n", text)
		w.(http.Flusher).Flush()
		select {
		case text = <-s.frames:
		case <-r.Context().Done():
			return
		}
	}
}

// onStage is a frame of the run of [reporttest.TenMinutes], after some of its seconds.
func onStage(t testing.TB, seconds int64) Frame {
	t.Helper()
	rep := report.Build(reporttest.TenMinutes(t, seconds))
	at := rep.StartedAt.Add(time.Duration(seconds) * time.Second)
	f := Frame{At: at, Phase: "running", Rate: 560, RateThen: 560, Steps: 1, EndsAt: rep.StartedAt.Add(10 * time.Minute), Members: 7, Awaits: 7, InFlight: 14, Control: true,
		Drawing: render.Draw(rep), Outcome: rep.Outcome(), Checks: checks(rep), Fleet: []results.Member{}, FleetStates: map[string]int{"active": 7, "lost": 1}}
	for i, w := range rep.Workers {
		m := results.Member{ID: w.ID, Incarnation: w.Incarnation, State: w.State, Weight: 1, Share: 1. / 7, Owned: w.Sent, Sent: w.Sent, Rate: 80, InFlight: 2,
			LagP99NS: int64(180_000 + 9_000*i), LastSeen: at.Add(-300 * time.Millisecond), Verdicts: w.Verdicts}
		if w.State == "lost" {
			m.LastSeen, m.Rate, m.InFlight, m.LagP99NS, m.Share = rep.StartedAt.Add(300*time.Second), 0, 0, 0, 0
		}
		if i == 2 {
			m.Verdicts = []record.Verdict{{Limit: "machine", Cause: "wait", Text: "its threads waited for a core 12 % of the time; use a machine with less other work"}}
		}
		f.Fleet = append(f.Fleet, m)
	}
	return f
}

// withSteps adds steps of a shop to a frame.
func withSteps(f Frame) Frame {
	for i, name := range []string{"browse", "search", "cart", "pay", "confirm"} {
		scale := []float64{0.6, 1.1, 0.8, 1.9, 1.2}[i]
		l := f.Report.Latency
		for _, ns := range []*int64{&l.Min, &l.Mean, &l.P50, &l.P90, &l.P95, &l.P99, &l.P999, &l.P9999, &l.Max} {
			*ns = int64(float64(*ns) * scale)
		}
		n := f.Report.Sent / 5
		f.Report.Steps = append(f.Report.Steps, report.StepReport{Name: name, Sent: n, Completed: n - int64(300*i), Failed: int64(300 * i), Errors: map[string]int64{}, Latency: l})
	}
	return f
}
