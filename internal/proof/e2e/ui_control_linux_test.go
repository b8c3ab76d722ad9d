package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/console/ui"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// TestUICommands: each command of the page does in Redis what the command of the terminal does. Commands that cannot be are
// refused: 400, 404 or 409.
func TestUICommands(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.loadctl("create", "x", "--url", b.web.URL(), "--qps", "100", "--permit-for", "10m")
	b.guest("x")
	w := b.guest("x", "--id", "doomed")
	b.members("x", 2)
	v := b.ui("--control").viewer()
	if c := v.change("/api/v1/runs/x/start", `{}`); c.Command != "start" || !c.Changed {
		t.Errorf("start: %+v", c)
	}
	b.comes("x", "running")
	if c := v.change("/api/v1/runs/x/rate", `{"rate":"250"}`); c.Command != "set-rate" || !c.Changed || c.At.IsZero() {
		t.Errorf("rate: %+v", c)
	}
	await.True(t, "the new rate", func() bool { return b.read("x").Rate == 250 })
	v.change("/api/v1/runs/x/pause", `{}`)
	b.comes("x", "paused")
	if c := v.change("/api/v1/runs/x/pause", `{}`); c.Changed {
		t.Errorf("a second pause: %+v", c)
	}
	v.change("/api/v1/runs/x/resume", `{}`)
	b.comes("x", "running")
	b.silence("x", time.Now().Add(time.Hour), w)
	if a := v.do("POST", "/api/v1/runs/x/workers/doomed/remove", `{}`, nil); a.status != http.StatusConflict {
		t.Errorf("removal of a worker that lives: %d %s", a.status, a.text)
	}
	b.silence("x", time.Now().Add(-time.Minute), w)
	w.Kill()
	var removed []run.Worker
	a := v.do("POST", "/api/v1/runs/x/workers/doomed/remove", `{"force":false}`, nil)
	if err := json.Unmarshal([]byte(a.text), &removed); err != nil || a.status != http.StatusOK || len(removed) != 1 || removed[0].State != "removed" {
		t.Errorf("removal of a worker that is silent: %d %s", a.status, a.text)
	}
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

// TestUISeveralHands: two pages, of two servers, and a terminal change the rate by turns. All show the same, on a quiet
// machine within two seconds.
func TestUISeveralHands(t *testing.T) {
	nightly(t)
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
			if took := time.Since(changed); acceptance() && took > 2*time.Second {
				t.Errorf("page %d shows rate %d after %v", j, rate, took)
			}
		}
	}
}

// TestUIDeadman: watching by pages is no sign of life for --deadman. A command is.
func TestUIDeadman(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.going("x", "--deadman", "10m")
	v := b.ui("--control").viewer()
	f := v.follow("x")
	f.frame()
	was := b.onlooker("x")
	for range 3 {
		f.frame()
	}
	if now := b.onlooker("x"); !now.Equal(was) {
		t.Errorf("a page was a sign of life, at %v", now)
	}
	v.change("/api/v1/runs/x/rate", `{"rate":"50"}`)
	if now := b.onlooker("x"); !now.After(was) {
		t.Errorf("the last sign of life was %v before the command", now.Sub(was))
	}
	b.worker("y", "--url", b.web.URL(), "--qps", "100", "--deadman", "3s")
	await.True(t, "the run", func() bool { return b.read("y").Phase != "" })
	v.follow("y").until("the stop", func(f ui.Frame) bool { return f.Phase == "stopped" })
}

// silence freezes workers, and makes Redis believe that they called at an instant: due in lua/state.lua.
func (b *bed) silence(name string, called time.Time, ps ...*process) {
	b.t.Helper()
	ctx, client := b.t.Context(), b.redis.Client()
	for _, p := range ps {
		if err := await.Frozen(p.Cmd.Process); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := client.Ping(ctx).Err(); err != nil { // it has executed what they had sent
		b.t.Fatal(err)
	}
	frozen := b.read(name)
	for _, w := range frozen.Workers {
		if len(ps) < len(frozen.Workers) && !strings.Contains(strings.Join(ps[0].Cmd.Args, " "), " --id "+w.ID) {
			continue
		}
		score := client.ZScore(ctx, run.KeysOf(name).Due, w.ID).Val() + float64(called.Sub(w.LastSeen).Microseconds())
		if err := client.ZAdd(ctx, run.KeysOf(name).Due, redis.Z{Score: score, Member: w.ID}).Err(); err != nil {
			b.t.Fatal(err)
		}
	}
}
