package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/ui"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// liveUI is a loadctl ui.
type liveUI struct {
	*process
	key  string // file of the key of its sessions
	base string
}

// ui starts loadctl ui at a free port. args may begin with another --listen.
func (b *bed) ui(args ...string) *liveUI {
	b.t.Helper()
	key := filepath.Join(b.t.TempDir(), "key")
	return b.uiAt("127.0.0.1:0", key, args...)
}

// uiAt is ui at this address, with the key of its sessions in this file.
func (b *bed) uiAt(address, key string, args ...string) *liveUI {
	b.t.Helper()
	p := launch(b.t, b.url(), "loadctl", append([]string{"ui", "--listen", address, "--session-key", key}, args...)...)
	u := &liveUI{process: p, key: key}
	u.base, _, _ = strings.Cut(u.login(), "/login")
	return u
}

// login returns the newest address that logs a browser in.
func (u *liveUI) login() string {
	u.t.Helper()
	address := regexp.MustCompile(`https?://\S+/login\?token=\S+`)
	await.True(u.t, "the address of the page", func() bool {
		select {
		case <-u.Exited:
			u.t.Fatalf("loadctl ui has ended:\n%s%s", u.Stdout.String(), u.Stderr.String())
		default:
		}
		return address.MatchString(u.Stdout.String())
	})
	all := address.FindAllString(u.Stdout.String(), -1)
	return all[len(all)-1]
}

// address returns host and port of the page.
func (u *liveUI) address() string { return u.base[strings.Index(u.base, "//")+2:] }

// A viewer is a browser without a screen.
type viewer struct {
	t      *testing.T
	ui     *liveUI
	cookie *http.Cookie // nil = it is not logged in
}

// viewer logs a browser in.
func (u *liveUI) viewer() *viewer {
	u.t.Helper()
	before := u.login()
	answer := (&viewer{t: u.t, ui: u}).get(strings.TrimPrefix(before, u.base))
	if answer.status != http.StatusSeeOther || len(answer.cookies) != 1 {
		u.t.Fatalf("login: %d, %d cookies: %s", answer.status, len(answer.cookies), answer.text)
	}
	await.True(u.t, "the address for the next browser", func() bool { return u.login() != before })
	return &viewer{t: u.t, ui: u, cookie: answer.cookies[0]}
}

// An answered request.
type answered struct {
	status  int
	text    string
	header  http.Header
	cookies []*http.Cookie
}

// client follows no redirects.
func client() *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DisableKeepAlives: true},
	}
}

// do sends a request; change may be nil.
func (v *viewer) do(method, path, body string, change func(*http.Request)) answered {
	v.t.Helper()
	res, err := v.ask(method, path, body, change)
	for errors.Is(err, io.EOF) && v.t.Context().Err() == nil { // a slow server has given up a head that it had not read yet
		res, err = v.ask(method, path, body, change)
	}
	if err != nil {
		v.t.Fatalf("%s %s: %v\n%s", method, path, err, v.ui.Stderr.String())
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answered{res.StatusCode, string(text), res.Header, res.Cookies()}
}

// ask sends a request once.
func (v *viewer) ask(method, path, body string, change func(*http.Request)) (*http.Response, error) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.ui.base+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	if v.cookie != nil {
		req.AddCookie(v.cookie)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(req)
	}
	return client().Do(req)
}

func (v *viewer) get(path string) answered { v.t.Helper(); return v.do("GET", path, "", nil) }

// read gets JSON.
func (v *viewer) read(path string, to any) {
	v.t.Helper()
	if a := v.get(path); a.status != http.StatusOK {
		v.t.Fatalf("%s: %d %s", path, a.status, a.text)
	} else if err := json.Unmarshal([]byte(a.text), to); err != nil {
		v.t.Fatalf("%s: %v in %.300s", path, err, a.text)
	}
}

// change gives a command that must succeed.
func (v *viewer) change(path, body string) run.Change {
	v.t.Helper()
	var c run.Change
	if a := v.do("POST", path, body, nil); a.status != http.StatusOK {
		v.t.Fatalf("%s %s: %d %s", path, body, a.status, a.text)
	} else if err := json.Unmarshal([]byte(a.text), &c); err != nil {
		v.t.Fatal(err)
	}
	return c
}

// An event of a stream.
type event struct {
	name string
	data []byte
}

// A follower is a page that follows a run.
type follower struct {
	t      *testing.T
	events chan event // closed when the stream has ended
	status int
	leave  context.CancelFunc
}

// follow opens the stream of a run.
func (v *viewer) follow(name string) *follower {
	v.t.Helper()
	ctx, cancel := context.WithCancel(v.t.Context())
	v.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", v.ui.base+"/api/v1/runs/"+name+"/live", nil)
	if err != nil {
		v.t.Fatal(err)
	}
	req.AddCookie(v.cookie)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req) //nolint:bodyclose // the goroutine below closes it
	if err != nil {
		v.t.Fatal(err)
	}
	f := &follower{t: v.t, events: make(chan event, 1000), status: res.StatusCode, leave: cancel}
	go func() {
		defer close(f.events)
		defer res.Body.Close()
		var now event
		lines := bufio.NewReaderSize(res.Body, 1<<20)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			field, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(": "))
			switch string(field) {
			case "event":
				now.name = string(value)
			case "data":
				now.data = value
			case "":
				if now.name != "" {
					f.events <- now
				}
				now = event{}
			}
		}
	}()
	return f
}

// next returns the next event of this name; others are skipped.
func (f *follower) next(name string) []byte {
	f.t.Helper()
	for {
		switch e := await.Receive(f.t, name, f.events); e.name {
		case name:
			return e.data
		case "":
			f.t.Fatalf("the stream ended, and no %s came", name)
		}
	}
}

// frame returns the next frame.
func (f *follower) frame() ui.Frame {
	f.t.Helper()
	var frame ui.Frame
	if err := json.Unmarshal(f.next("frame"), &frame); err != nil {
		f.t.Fatal(err)
	}
	return frame
}

// until waits for a frame.
func (f *follower) until(what string, ok func(ui.Frame) bool) (frame ui.Frame) {
	f.t.Helper()
	await.True(f.t, "a frame with "+what, func() bool {
		frame = f.frame()
		return ok(frame)
	})
	return frame
}

// going starts a run without an end, with one worker.
func (b *bed) going(name string, args ...string) *process {
	b.t.Helper()
	w := b.worker(name, append([]string{"--url", b.web.URL(), "--qps", "100"}, args...)...)
	await.True(b.t, "the begin of "+name, func() bool { s := b.read(name); return s.Phase == "running" && s.Rate > 0 })
	return w
}

// TestUIServesThePage: the page and all that it loads are there, with the right types, and nothing may frame it or load
// from elsewhere.
func TestUIServesThePage(t *testing.T) {
	nightly(t)
	t.Parallel()
	v := newBed(t).ui().viewer()
	a := v.get("/")
	if a.status != 200 || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("/: %d %v", a.status, a.header)
	}
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(a.header.Get("Content-Security-Policy"), part) {
			t.Errorf("the policy lacks %s: %s", part, a.header.Get("Content-Security-Policy"))
		}
	}
	if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Referrer-Policy") != "no-referrer" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers: %v", a.header)
	}
	loaded := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(a.text, -1)
	if len(loaded) == 0 || regexp.MustCompile(`(?i)<script>|<style|\son\w+=|\sstyle=`).MatchString(a.text) {
		t.Errorf("the page loads %d files; the policy forbids what is inside: %s", len(loaded), a.text)
	}
	imported := regexp.MustCompile(`from "\./([\w.-]+)"`)
	for queue, seen := loaded, map[string]bool{}; len(queue) > 0; queue = queue[1:] {
		path := queue[0][1]
		if seen[path] {
			continue
		}
		seen[path] = true
		file := v.get(path)
		if kind := file.header.Get("Content-Type"); file.status != 200 || strings.HasSuffix(path, ".js") && kind != "text/javascript; charset=utf-8" || strings.HasSuffix(path, ".css") && kind != "text/css; charset=utf-8" {
			t.Errorf("%s: %d %s", path, file.status, kind)
		}
		for _, m := range imported.FindAllStringSubmatch(file.text, -1) {
			queue = append(queue, []string{"", "/web/" + m[1]})
		}
	}
}

// TestUIEndsAtOnce: Ctrl-C ends the server, with open pages, and also if Redis hangs: on a quiet machine within a second.
func TestUIEndsAtOnce(t *testing.T) {
	nightly(t)
	t.Parallel()
	for name, hang := range map[string]bool{"Redis answers": false, "Redis hangs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.going("x")
			u := b.ui()
			u.viewer().follow("x").frame()
			if hang {
				b.redis.Pause()
				defer b.redis.Resume()
			}
			begin := time.Now()
			u.signal(syscall.SIGTERM)
			u.wait(0)
			if took := time.Since(begin); acceptance() && took > time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestUIWithoutRedis: the page says that Redis cannot be reached, and shows runs when it can.
func TestUIWithoutRedis(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.redis.Stop()
	v := b.ui().viewer()
	var l struct {
		Runs  []run.Entry
		Error string
	}
	if v.read("/api/v1/runs", &l); l.Error == "" || len(l.Runs) != 0 {
		t.Errorf("without Redis: %+v", l)
	}
	if a := v.get("/api/v1/runs/x"); a.status != http.StatusServiceUnavailable {
		t.Errorf("a run without Redis: %d %s", a.status, a.text)
	}
	b.redis.Restart()
	b.loadctl("create", "x", "--url", b.web.URL(), "--qps", "1")
	await.True(t, "the run in the list", func() bool {
		l.Runs, l.Error = nil, ""
		v.read("/api/v1/runs", &l)
		return l.Error == "" && len(l.Runs) == 1 && l.Runs[0].Run == "x"
	})
}

// TestUIOutage: pages get one notice that Redis does not answer, and go on by themselves.
func TestUIOutage(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.going("x")
	f := b.ui().viewer().follow("x")
	f.frame()
	b.redis.Pause()
	var trouble struct{ Error string }
	if err := json.Unmarshal(f.next("trouble"), &trouble); err != nil || trouble.Error == "" {
		t.Errorf("%v, %v", trouble, err)
	}
	b.redis.Resume()
	for {
		switch e := await.Receive(t, "a frame after the outage", f.events); e.name {
		case "":
			t.Fatal("the stream ended")
		case "trouble":
			t.Errorf("a second time: %s", e.data)
		case "frame":
			return
		}
	}
}

// TestUIRestart: a page goes on with a server that was killed and started again, and need not log in.
func TestUIRestart(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.going("x")
	u := b.ui()
	v := u.viewer()
	f := v.follow("x")
	f.frame()
	u.Kill()
	for range f.events { // until the stream has ended
	}
	again := b.uiAt(u.address(), u.key)
	if again.base != u.base {
		t.Fatalf("at %s, before at %s", again.base, u.base)
	}
	if frame := v.follow("x").frame(); frame.SeriesFrom != 0 || frame.Phase != "running" {
		t.Errorf("the first frame begins at %d, %s", frame.SeriesFrom, frame.Phase)
	}
}

// TestUIGone: a page shows that its run was removed. A new run of this name is shown from its beginning, to those who
// looked at the old one too.
func TestUIGone(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.loadctl("create", "x", "--url", b.web.URL(), "--qps", "1")
	v := b.ui().viewer()
	f := v.follow("x")
	if frame := f.frame(); frame.Phase != "waiting" {
		t.Errorf("%s", frame.Phase)
	}
	b.loadctl("rm", "x", "--force")
	f.next("gone")
	if _, more := <-f.events; more {
		t.Error("the stream goes on")
	}
	if f := v.follow("x"); f.status != http.StatusNotFound {
		t.Errorf("a run that is not there: %d", f.status)
	}
	b.worker("x", "--url", b.web.URL(), "--qps", "50", "-n", "50").wait(0)
	v.follow("x").next("end")
	first := b.report("x")
	b.loadctl("rm", "x")
	b.going("x")
	frame := v.follow("x").frame()
	if frame.Settled || frame.Report.StartedAt.Equal(first.StartedAt) {
		t.Errorf("the frame is that of the removed run: %+v", frame.Phase)
	}
}

// TestUIFramesAddUp: the frames of a page, put together, are the report that loadctl prints, number by number.
func TestUIFramesAddUp(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.going("x")
	v := b.ui("--control").viewer()
	f := v.follow("x")
	all := f.frame()
	if all.SeriesFrom != 0 || all.EventsFrom != 0 || all.MarksFrom != 0 || all.HeatFrom != 0 {
		t.Errorf("the first frame is not whole: %+v", all)
	}
	v.change("/api/v1/runs/x/rate", `{"rate":"300","over":"1s"}`)
	cut := false
	for !all.Settled {
		next := f.frame()
		next.Report.Series = append(all.Report.Series[:next.SeriesFrom:next.SeriesFrom], next.Report.Series...)
		next.Report.Events = append(all.Report.Events[:next.EventsFrom:next.EventsFrom], next.Report.Events...)
		next.Marks = append(all.Marks[:next.MarksFrom:next.MarksFrom], next.Marks...)
		if next.Heat != nil && all.Heat != nil {
			next.Heat.Columns = append(all.Heat.Columns[:next.HeatFrom:next.HeatFrom], next.Heat.Columns...)
		}
		if all = next; !cut && next.SeriesFrom > 0 && len(next.Marks) > 0 { // so a frame was cut, and shows the command
			cut = true
			v.change("/api/v1/runs/x/stop", `{}`)
		}
	}
	f.next("end")
	want := b.report("x")
	var whole ui.Frame
	v.read("/api/v1/runs/x", &whole)
	want.Samples = nil                                                                        // frames leave them out: they have an address of their own
	want.Workers, want.Described.Commands = all.Report.Workers, all.Report.Described.Commands // the fleet and the events have them
	for name, frame := range map[string]ui.Frame{"put together": all, "whole": whole} {
		if got := asJSON(t, frame.Report); got != asJSON(t, want) {
			t.Errorf("%s:\n%s\nthe report:\n%s", name, got, asJSON(t, want))
		}
	}
	if asJSON(t, all.Heat) != asJSON(t, whole.Heat) || asJSON(t, all.Marks) != asJSON(t, whole.Marks) {
		t.Errorf("heat map or marks, put together:\n%s %s\nwhole:\n%s %s", asJSON(t, all.Heat), asJSON(t, all.Marks), asJSON(t, whole.Heat), asJSON(t, whole.Marks))
	}
	if printed := v.get("/api/v1/runs/x/report?format=json"); printed.text != b.loadctl("report", "x", "-o", "json") {
		t.Errorf("the report of the API: %.2000s", printed.text)
	}
}

// asJSON returns a value as JSON.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestUIFleet: the API has all workers, in parts too.
func TestUIFleet(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.fleet(3, "x", "--qps", "90")
	b.comes("x", "running")
	v := b.ui().viewer()
	f := v.follow("x").until("three workers", func(f ui.Frame) bool { return f.FleetStates["active"] == 3 })
	if len(f.Fleet) != 3 || len(f.Report.Workers) != 0 {
		t.Errorf("%d in the fleet, %d in the report", len(f.Fleet), len(f.Report.Workers))
	}
	var all, part struct {
		Total   int
		States  map[string]int
		Workers []struct{ ID string }
	}
	v.read("/api/v1/runs/x/workers", &all)
	v.read("/api/v1/runs/x/workers?offset=1&limit=1", &part)
	if all.Total != 3 || len(all.Workers) != 3 || part.Total != 3 || fmt.Sprint(part.Workers) != fmt.Sprint(all.Workers[1:2]) {
		t.Errorf("all %+v, a part %+v", all, part)
	}
	if a := v.get("/api/v1/runs/x/workers?offset=-1"); a.status != http.StatusBadRequest {
		t.Errorf("offset −1: %d %s", a.status, a.text)
	}
}

// TestUIArchivesAndComparison: an archive is shown like a run, and a comparison is that of loadctl compare.
func TestUIArchivesAndComparison(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	for _, name := range []string{"a", "b"} {
		b.worker(name, "--url", b.web.URL(), "--qps", "300", "--duration", "3s").wait(0)
	}
	file := filepath.Join(t.TempDir(), "before.loadctl")
	b.loadctl("report", "a", "--out", file)
	v := b.ui("--control", file).viewer()
	var l struct{ Archives []ui.ArchiveEntry }
	if v.read("/api/v1/runs", &l); len(l.Archives) != 1 || l.Archives[0].Name != "before" || l.Archives[0].Run != "a" || l.Archives[0].DurationS < 3 {
		t.Errorf("archives: %+v", l.Archives)
	}
	var archived, live ui.Frame
	v.read("/api/v1/archives/before", &archived)
	v.read("/api/v1/runs/a", &live)
	if !archived.Settled || archived.Control || asJSON(t, archived.Report) != asJSON(t, live.Report) || asJSON(t, archived.Heat) != asJSON(t, live.Heat) {
		t.Errorf("the archive:\n%s\nthe run:\n%s", asJSON(t, archived), asJSON(t, live))
	}
	var want, got map[string]any
	if err := json.Unmarshal([]byte(b.loadctl("compare", "a", "b", "-o", "json", "--force")), &want); err != nil {
		t.Fatal(err)
	}
	v.read("/api/v1/compare?base=run:a&other=run:b&force=1", &got)
	if curves, _ := got["curves"].([]any); len(curves) != 2 {
		t.Errorf("curves: %v", got["curves"])
	}
	delete(got, "curves")
	if asJSON(t, got) != asJSON(t, want) {
		t.Errorf("compared by the API:\n%s\nby the command:\n%s", asJSON(t, got), asJSON(t, want))
	}
	v.read("/api/v1/compare?base=archive:before&other=run:b&force=1", &got)
	b.worker("c", "--url", b.web.URL(), "--qps", "50", "--duration", "2s").wait(0)
	if a := v.get("/api/v1/compare?base=run:a&other=run:c"); a.status != http.StatusConflict {
		t.Errorf("other settings: %d %s", a.status, a.text)
	}
	for path, status := range map[string]int{"base=run:a&other=run:none": 404, "base=archive:none&other=run:a": 404, "base=a&other=b": 400, "base=run:a": 400} {
		if a := v.get("/api/v1/compare?" + path); a.status != status {
			t.Errorf("%s: %d, want %d: %s", path, a.status, status, a.text)
		}
	}
}
