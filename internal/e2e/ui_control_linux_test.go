package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/await"
	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/internal/ui"
)

// TestUICommands: each command of the page does in Redis what the command of the terminal does.
func TestUICommands(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.loadctl("create", "x", "--url", b.web.URL(), "--qps", "100")
	b.guest("x")
	w := b.guest("x", "--id", "doomed")
	b.members("x", 2)
	v := b.ui("--control").viewer()
	if c := v.change("/api/v1/runs/x/start", `{}`); c.Command != "start" || !c.Changed {
		t.Errorf("start: %+v", c)
	}
	await.True(t, "the begin", func() bool { return b.status("x").Phase == "running" })
	if c := v.change("/api/v1/runs/x/rate", `{"rate":"250"}`); c.Command != "set-rate" || !c.Changed || c.At.IsZero() {
		t.Errorf("rate: %+v", c)
	}
	await.True(t, "the new rate", func() bool { return b.status("x").Rate == 250 })
	v.change("/api/v1/runs/x/pause", `{}`)
	await.True(t, "the pause", func() bool { return b.status("x").Phase == "paused" })
	if c := v.change("/api/v1/runs/x/pause", `{}`); c.Changed {
		t.Errorf("a second pause: %+v", c)
	}
	v.change("/api/v1/runs/x/resume", `{}`)
	await.True(t, "the end of the pause", func() bool { return b.status("x").Phase == "running" })
	if a := v.do("POST", "/api/v1/runs/x/workers/doomed/remove", `{}`, nil); a.status != http.StatusConflict {
		t.Errorf("removal of a worker that lives: %d %s", a.status, a.text)
	}
	w.signal(syscall.SIGKILL)
	<-w.Exited
	await.True(t, "the removal", func() bool {
		a := v.do("POST", "/api/v1/runs/x/workers/doomed/remove", `{"force":false}`, nil)
		var removed []run.Worker
		return a.status == http.StatusOK && json.Unmarshal([]byte(a.text), &removed) == nil && len(removed) == 1 && removed[0].State == "removed"
	})
	v.change("/api/v1/runs/x/stop", `{}`)
	if s := b.status("x"); s.Phase != "stopped" || s.EndedAt.IsZero() {
		t.Errorf("after the stop: %+v", s)
	}
	for path, want := range map[string]int{
		"x/rate": 409, "x/pause": 409, "none/pause": 404, "x/workers/none/remove": 404, "x/rate?": 409,
	} {
		if a := v.do("POST", "/api/v1/runs/"+path, `{"rate":"1"}`, nil); a.status != want {
			t.Errorf("%s after the end: %d, want %d: %s", path, a.status, want, a.text)
		}
	}
	for _, body := range []string{`{"rate":"many"}`, `{"rate":"-1"}`, `{"rate":"max"}`, `{"rate":"5","over":"soon"}`, `{"rate":"5","over":"-1s"}`, `{"rate":5}`, `{"rat":"5"}`, `{`, ``, `[]`, `{} {}`} {
		if a := v.do("POST", "/api/v1/runs/x/rate", body, nil); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, a.status, a.text)
		} else if body == `{"rate":5}` && !strings.Contains(a.text, `rate: is a number; give text in quotes`) {
			t.Error(a.text)
		}
	}
}

// TestUISeveralHands: two pages, of two servers, and a terminal change the rate by turns. All show the same within two
// seconds.
func TestUISeveralHands(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.going("x")
	first, second := b.ui("--control"), b.ui("--control")
	pages := []*viewer{first.viewer(), first.viewer(), second.viewer()}
	var streams []*follower
	for _, v := range pages {
		streams = append(streams, v.follow("x"))
	}
	for i := range 9 {
		rate := 100 + 7*i
		switch i % 3 {
		case 0:
			pages[0].change("/api/v1/runs/x/rate", fmt.Sprintf(`{"rate":"%d"}`, rate))
		case 1:
			pages[2].change("/api/v1/runs/x/rate", fmt.Sprintf(`{"rate":"%d"}`, rate))
		default:
			b.loadctl("set-rate", "x", fmt.Sprint(rate))
		}
		changed := time.Now()
		for j, f := range streams {
			f.until(fmt.Sprintf("rate %d", rate), func(f ui.Frame) bool { return f.Rate == float64(rate) })
			if took := time.Since(changed); took > 2*time.Second {
				t.Errorf("page %d shows rate %d after %v", j, rate, took)
			}
		}
	}
}

// TestUIDeadman: watching by pages is no sign of life for --deadman. A command is.
func TestUIDeadman(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.going("x", "--deadman", "3s")
	v := b.ui("--control").viewer()
	f := v.follow("x")
	for began := time.Now(); time.Since(began) < 5*time.Second; f.frame() {
		v.change("/api/v1/runs/x/rate", `{"rate":"50"}`)
	}
	if s := b.status("x"); s.Phase != "running" {
		t.Errorf("commands did not keep it alive: %s", s.Phase)
	}
	f.until("the stop", func(f ui.Frame) bool { return f.Phase == "stopped" })
}
