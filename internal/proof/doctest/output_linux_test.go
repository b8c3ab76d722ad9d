package doctest

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/archive"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
)

// outputs is a session whose commands print JSON. Each document is compared with its schema.
type outputs struct {
	*session
	schemas *schemas
}

// TestOutputs runs all commands that print JSON, in all situations that affect it.
func TestOutputs(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs fleets for a minute")
	}
	t.Parallel()
	schemas := loadSchemas(t)
	t.Run("play", func(t *testing.T) { // ends when all that run in parallel have
		for name, play := range map[string]func(*outputs){
			"phases": phases, "ended": ended, "forgotten": forgotten, "moved": moved, "trouble": trouble, "gone": gone, "unreadable": unreadable, "apart": apart, "counted": counted, "messaged": messaged, "streamed": streamed, "routed": routed, "machine": machine, "limited": limited, "gated": gated, "judged": judged, "away": away, "fastest": fastest, "staged": staged, "putoff": putOff, "compared": compared, "searched": searched, "mixed": mixed, "rehearsed": rehearsed, "budgeted": budgeted, "guarded": guarded, "asking": asking, "evident": evident, "tried": tried,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				play(&outputs{newSession(t, name, nil), schemas})
			})
		}
	})
	commands := printers(t)
	for _, command := range commands {
		if schemas.docs[command] == nil {
			t.Errorf("%s -o json: tried nowhere", command)
		}
	}
	for command := range schemas.of {
		if !slices.Contains(commands, command) {
			t.Errorf("docs/json.md names %s, which prints no JSON", command)
		}
	}
	for name, schema := range schemas.strict {
		schemas.complete(t, schema)
		schemas.refuses(t, name)
	}
}

// printers returns the commands with -o json, according to their help.
func printers(t *testing.T) []string {
	t.Helper()
	var names []string
	for name, help := range helps(t) {
		if regexp.MustCompile(`--output FORMAT .*\bjson\b`).MatchString(help) {
			names = append(names, name)
		}
	}
	return names
}

// begin starts a command.
func (o *outputs) begin(code int, command string) *process {
	o.t.Helper()
	return o.start(step{text: command + " -o json", code: code})
}

// result returns the output of a command that has ended.
func (o *outputs) result(p *process) any {
	o.t.Helper()
	p.wait()
	words := strings.Fields(p.step.text)
	return o.schemas.check(o.t, words[0]+" "+words[1], p.Stdout.String())
}

// print runs a command.
func (o *outputs) print(command string) any {
	o.t.Helper()
	return o.result(o.begin(0, command))
}

// await runs a command until its output is as wanted.
func (o *outputs) await(command string, wanted func(doc any) bool) {
	o.t.Helper()
	await.True(o.t, command+" to be as wanted", func() bool { return wanted(o.print(command)) })
}

// is reports whether a document has a member with this value.
func is(name string, value any) func(doc any) bool {
	return func(doc any) bool {
		object, _ := doc.(map[string]any)
		return object[name] == value
	}
}

// one reports whether one of an array's elements is as wanted.
func one(wanted ...func(any) bool) func(doc any) bool {
	return func(doc any) bool {
		array, _ := doc.([]any)
		return slices.ContainsFunc(array, func(v any) bool { return all(wanted...)(v) })
	}
}

// all reports whether everything is as wanted.
func all(wanted ...func(any) bool) func(doc any) bool {
	return func(doc any) bool {
		return !slices.ContainsFunc(wanted, func(w func(any) bool) bool { return !w(doc) })
	}
}

func not(wanted func(any) bool) func(doc any) bool {
	return func(doc any) bool { return !wanted(doc) }
}

// number is a whole number as decoded from JSON.
func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// phases is a run that is started and stopped by commands, with workers that leave in every way.
func phases(o *outputs) {
	const create, status, workers = "loadctl create phases --url http://127.0.0.1:8080/ --qps 300 --permit-for 15s -H Cookie:a=1", "loadctl status phases", "loadctl workers phases"
	worker := func(id string, code int) *process {
		return o.begin(code, "loadworker run --run phases --wait --allow-hosts 127.0.0.1 --id "+id)
	}
	o.print("loadctl ls") // none
	o.print(create)
	o.print(create) // there already
	stays, killed, replaced, leaves, dead := worker("w1", 0), worker("w2", -1), worker("w3", 104), worker("w4", 105), worker("w5", -1)
	o.await(status, all(is("phase", "waiting"), is("members", number(5))))
	o.print("loadctl set-rate phases 200")
	o.print("loadctl report phases")
	watch := o.begin(1, "loadctl watch phases") // in the end the report is INCOMPLETE: two workers were killed

	o.print("loadctl start phases")
	o.await(status, all(is("phase", "running"), not(is("asked", number(0)))))
	o.print("loadctl start phases") // has begun already
	o.print("loadctl set-rate phases 600 --over 30s")
	killed.kill(syscall.SIGKILL)
	leaves.kill(syscall.SIGTERM)
	o.await(workers, one(is("id", "w2"), is("state", "silent")))
	o.print("loadctl report phases")
	dead.kill(syscall.SIGKILL) // just now: a lost worker cannot be removed any more
	o.print("loadctl workers rm phases w5 --force")
	newer := worker("w3", 0)
	for id, state := range map[string]string{"w1": "active", "w2": "lost", "w3": "replaced", "w4": "left", "w5": "removed"} {
		o.await(workers, one(is("id", id), is("state", state)))
	}
	o.print("loadctl report phases")
	o.print("loadctl pause phases")
	o.print("loadctl pause phases") // is paused already
	o.await(status, is("phase", "paused"))
	o.await("loadctl ls", one(is("phase", "paused")))
	o.print("loadctl resume phases")
	o.await("loadctl ls", one(is("phase", "running")))
	o.print("loadctl stop phases")
	o.await(status, is("phase", "stopped"))
	o.await(workers, one(is("id", "w1"), is("state", "stopped")))
	for _, p := range []*process{stays, replaced, leaves, newer, watch} {
		o.result(p)
	}
	o.result(o.begin(1, "loadctl report phases"))
	o.print("loadctl events phases")
	o.print("loadctl ls")
}

// ended is a run that begins and ends by itself.
func ended(o *outputs) {
	begun := o.begin(0, "loadctl run ended --url http://127.0.0.1:8080/ --qps 200 --duration 1s --min-workers 2")
	first := o.begin(0, "loadworker run --run ended --wait --allow-any --id w1")
	o.await("loadctl ls", one(is("phase", "waiting"), is("members", number(1))))
	o.await("loadctl status ended", is("min_workers", number(2)))
	second := o.begin(0, "loadworker run --run ended --wait --allow-any --id w2")
	for _, p := range []*process{begun, first, second} {
		o.result(p)
	}
	o.await("loadctl status ended", is("phase", "ended"))
	o.print("loadctl ls")
	o.print("loadctl events ended")
}

// guarded is a run whose guard lowers the rate, until a person sets another one.
func guarded(o *outputs) {
	const guard = "latency:p(50)<1us over 1s reduce by 50% after 1"
	worker := o.begin(99, "loadworker run --run guarded --url http://127.0.0.1:8080/ --qps 100 --timeout 1s --threshold '"+guard+"'")
	worker.says(`(created run)`)
	o.await("loadctl status guarded", not(is("factor", nil)))
	o.print("loadctl set-rate guarded 50")
	o.print("loadctl stop guarded")
	o.result(worker)
	o.print("loadctl report guarded --guard-ok")
	o.print("loadctl events guarded")
}

// putOff is a run whose planned end a pause delays.
func putOff(o *outputs) {
	worker := o.begin(0, "loadworker run --run putoff --url http://127.0.0.1:8080/ --qps 100 --duration 1h")
	worker.says(`(created run)`)
	o.await("loadctl status putoff", all(is("phase", "running"), not(is("ends_at", nil))))
	o.print("loadctl pause putoff")
	o.await("loadctl status putoff", all(is("phase", "paused"), is("ends_at", nil), not(is("left_ns", nil))))
	o.print("loadctl stop putoff")
	o.result(worker)
}

// searched is a search whose highest rate passes.
func searched(o *outputs) {
	worker := o.begin(0, "loadworker run --run searched --wait --allow-any")
	doc := o.print("loadctl search searched --url noop:// --slo 'latency:p(99)<14s' --slo 'errors:rate<1%' --from 100 --to 100 --step-for 15s --catch-up 1m --max-lag 1m")
	if !all(is("end", "above"), is("rate", number(100)), is("failed", number(0)))(doc) {
		o.t.Errorf("%v", doc)
	}
	o.result(worker)
}

// fastest is a closed loop.
func fastest(o *outputs) {
	worker := o.begin(0, "loadworker run --run fastest --url http://127.0.0.1:8080/ --qps max --max-connections 1 --duration 1s")
	worker.says(`(created run)`)
	o.await("loadctl status fastest", is("closed_loop", true))
	o.await("loadctl ls", one(is("closed_loop", true)))
	if doc := o.result(worker); !is("closed_loop", true)(doc) {
		o.t.Errorf("%v", doc)
	}
}

// staged is a closed loop with a concurrency.
func staged(o *outputs) {
	worker := o.begin(0, "loadworker run --run staged --url http://127.0.0.1:8080/ --stage 1s:c=3")
	worker.says(`(created run)`)
	o.await("loadctl status staged", all(is("closed_loop", true), is("concurrency", number(3))))
	o.await("loadctl ls", one(is("concurrency", number(3))))
	if doc := o.result(worker); !is("closed_loop", true)(doc) {
		o.t.Errorf("%v", doc)
	}
}

// forgotten is a run that nobody watches.
func forgotten(o *outputs) {
	o.print("loadctl create forgotten --url http://127.0.0.1:8080/ --qps 100 --min-workers 1 --deadman 3s")
	o.result(o.begin(0, "loadworker run --run forgotten --allow-any"))
	o.print("loadctl events forgotten")
}

// moved is a run that is made to believe that the clock went back, and then that another server took over.
func moved(o *outputs) {
	redis, ctx := o.redis.Client(), context.Background()
	worker := o.begin(0, "loadworker run --run moved --url noop:// --qps 100")
	worker.says(`(created run)`)
	o.await("loadctl status moved", is("phase", "running"))
	ahead := time.Now().Add(10 * time.Second).UnixMicro()
	if err := redis.HSet(ctx, run.KeysOf("moved").Budget, "last", ahead).Err(); err != nil {
		o.t.Fatal(err)
	}
	o.await("loadctl events moved", one(is("kind", "clock")))
	// A replica that takes over has another id. Another epoch in the budget is not the same: it must differ from the one
	// that the workers know.
	if err := redis.Do(ctx, "DEBUG", "CHANGE-REPL-ID").Err(); err != nil {
		o.t.Fatal(err)
	}
	o.await("loadctl events moved", one(is("kind", "failover")))
	o.print("loadctl stop moved")
	o.result(worker)
}

// trouble is a run whose requests fail, or are too late to be sent.
func trouble(o *outputs) {
	web, err := arrivals.Start(arrivals.Options{Status: 503, Latency: 100 * time.Millisecond})
	if err != nil {
		o.t.Fatal(err)
	}
	defer web.Close()
	o.result(o.begin(99, "loadworker run --run trouble --qps 100 --duration 2s --max-lag 50ms --max-connections 1 --threshold 'errors:rate<1%' "+
		"--threshold 'latency:max<1h' --threshold 'checks:count>1 over 1s' --url "+web.URL()))
}

// compared are a good run and one in trouble, of which requests are dropped late and none completes.
func compared(o *outputs) {
	dir := o.t.TempDir()
	fire := func(name, url, flags string) string {
		file := dir + "/" + name + ".loadctl"
		o.begin(0, "loadworker run --run compared-"+name+" --qps 100 --duration 6s --url "+url+" --out "+file+" "+flags).end()
		return file
	}
	web, err := arrivals.Start(arrivals.Options{Status: 503, Latency: 100 * time.Millisecond})
	if err != nil {
		o.t.Fatal(err)
	}
	defer web.Close()
	good, bad := fire("good", "http://127.0.0.1:8080/", "--max-lag 1h --catch-up 1h"), fire("bad", web.URL(), "--max-lag 50ms --max-connections 2")
	o.print("loadctl compare --force " + good + " " + bad)
	o.print("loadctl compare --force " + bad + " " + good)
	o.result(o.begin(99, "loadctl compare --force "+good+" "+bad+" --fail-on 'errors:rate>1%' --fail-on 'errors:rate<-1%' --fail-on 'latency:p(99.9)>1%'"))
}

// judged is a run with thresholds: while it goes on they are met, or undecided.
func judged(o *outputs) {
	o.print("loadctl create judged --url noop:// --qps 100 --threshold 'rate:count>0' --warmup 1s")
	o.print("loadctl report judged")
	worker := o.begin(-1, "loadworker run --run judged --allow-any")
	o.print("loadctl start judged")
	passed := one(is("result", "passed"))
	o.await("loadctl report judged", func(doc any) bool {
		object, _ := doc.(map[string]any)
		return passed(object["thresholds"])
	})
	worker.kill(syscall.SIGKILL)
}

// away is a run whose Redis does not answer until a worker has noticed.
func away(o *outputs) {
	worker := o.begin(0, "loadworker run --run away --url noop:// --qps 100")
	worker.says(`(created run)`)
	o.await("loadctl status away", is("phase", "running"))
	o.redis.Pause()
	worker.says(`(no snapshot published)`)
	noticed := time.Now()
	await.True(o.t, "more than a moment", func() bool { return time.Since(noticed) > 3*time.Second })
	o.redis.Resume()
	o.await("loadctl report away", func(doc any) bool {
		object, _ := doc.(map[string]any)
		return one(is("kind", "outage"))(object["events"])
	})
	o.print("loadctl stop away")
	o.result(worker)
}

// gone is a run that vanishes while a worker takes part in it.
func gone(o *outputs) {
	alone := o.begin(1, "loadworker run --run gone --url noop:// --qps 100")
	alone.says(`(created run)`)
	o.await("loadctl status gone", is("phase", "running"))
	o.start(step{text: "loadctl rm gone --force"}).wait()
	o.result(alone)
}

// unreadable are runs whose state this program cannot read.
func unreadable(o *outputs) {
	redis, ctx := o.redis.Client(), context.Background()
	for _, name := range []string{"broken", "newer", "older"} {
		o.print("loadctl create " + name + " --url noop:// --qps 1")
	}
	if err := redis.Del(ctx, run.KeysOf("broken").Budget).Err(); err != nil {
		o.t.Fatal(err)
	}
	for name, spec := range map[string]string{"newer": `{"version": 1000}`, "older": `{"version": 1}`} {
		if err := redis.Set(ctx, run.KeysOf(name).Spec, spec, 0).Err(); err != nil {
			o.t.Fatal(err)
		}
	}
	o.await("loadctl ls", all(one(is("phase", "broken")), one(is("phase", "newer")), one(is("phase", "older"))))
}

// apart is a run on a dead master of a cluster; another master has the list of runs.
func apart(o *outputs) {
	c := redistest.StartCluster(o.t, 3)
	o.env = append(o.env, "LOADCTL_REDIS="+c.URL())
	name := run.NewID()
	for c.Owner(o.t, run.KeysOf(name).Budget) == c.Owner(o.t, "load:runs") {
		name = run.NewID()
	}
	o.print("loadctl create " + name + " --url noop:// --qps 1")
	c.Owner(o.t, run.KeysOf(name).Budget).Kill()
	if doc := o.result(o.begin(1, "loadctl ls")); !one(is("phase", "unreachable"))(doc) {
		o.t.Errorf("%v", doc)
	}
}

// counted is the output of a target: for nothing, and for a run.
func counted(o *outputs) {
	for _, fire := range []bool{false, true} {
		target := o.begin(0, "loadctl target --listen 127.0.0.1:0 --error-share 0.5")
		url := target.says(`counting at (http\S+)`)
		if fire {
			o.print("loadworker run --run counted --qps 100 --duration 500ms --url " + url)
		}
		target.kill(syscall.SIGTERM)
		o.result(target)
	}
}

// messaged is a report of messages that came.
func messaged(o *outputs) {
	target := o.begin(0, "loadctl target --listen 127.0.0.1:0 --ws")
	url := target.says(`counting at (ws\S+)`)
	o.print("loadworker run --run messaged --qps 100 --duration 500ms -d hello --reply any --url " + url)
	target.kill(syscall.SIGTERM)
	o.result(target)
}

// streamed is a report of answers in pieces, with goals, of a language model and of none, and of one that says nothing of tokens
// and is cut off after one event. It is read from an archive.
func streamed(o *outputs) {
	target := o.begin(0, "loadctl target --listen 127.0.0.1:0 --sse first=1ms,events=3,gap=1ms")
	o.print("loadworker run --run streamed --qps 100 -n 20 --stream sse --url " + target.says(`counting at (http\S+)`))
	target.kill(syscall.SIGTERM)
	o.result(target)
	var files []string
	for _, kind := range []string{"no model", "model", "cut off"} {
		rec := record.NewRecorder("chat")
		rec.Sent()
		rec.StepSent(0)
		ended := record.Finished{Done: 9_000_000, Status: 200, Stream: &record.Stream{First: 2_000_000, Last: 8_000_000, Events: 3}, Judged: true, Good: true}
		switch kind {
		case "model":
			ended.Stream.TokensIn, ended.Stream.TokensOut, ended.Stream.Usage, ended.Stream.PerToken = 5, 3, true, 3_000_000
		case "cut off":
			ended.Stream, ended.Good, ended.Class = &record.Stream{First: 2_000_000, Last: 2_000_000, Events: 1, TokensOut: 1}, false, targets.ClassTruncated
		}
		for range ended.Stream.Events - 1 {
			rec.Gap(0, 3_000_000)
		}
		rec.Done(ended)
		total := record.NewSnapshot("w", "1")
		total.Record(rec)
		total.Final = true
		var series record.Series
		series.Add(0, total)
		in := report.Input{Run: "streamed", StartedAt: time.Now(), Duration: time.Second, Budget: report.Budget{Issued: 1},
			Workers: []report.WorkerInput{{ID: "w", Incarnation: "1", State: "left", Gone: true, Leased: 1, Total: total, Series: series.Points()}}}
		var text bytes.Buffer
		if err := archive.Write(&text, report.Build(in)); err != nil {
			o.t.Fatal(err)
		}
		files = append(files, filepath.Join(o.t.TempDir(), "streamed"+report.ArchiveExtension))
		file := files[len(files)-1]
		if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
			o.t.Fatal(err)
		}
		code := 0
		if !ended.Good {
			code = 1
		}
		o.result(o.begin(code, "loadctl report "+file))
		o.print("loadctl compare --force " + file + " " + files[0])
		o.print("loadctl compare --force " + files[0] + " " + file)
	}
}

// evident is a run whose requests fail in several ways, with the samples of it: of text and of bytes, whole and cut, with an answer
// and without.
func evident(o *outputs) {
	o.print("loadctl create evident --url http://127.0.0.1:8080/ --qps 100 --duration 1s")
	o.print("loadctl samples evident") // none
	target := o.begin(0, "loadctl target --listen 127.0.0.1:0 --error-share 0.3")
	url, dir := target.says(`counting at (http\S+)`), o.t.TempDir()
	text := `flows:
  buy:
  - pay: {post: ` + url + `/pay, json: {password: secret, n: 1}, header: {Authorization: secret}, check: ['status 200', 'body has "ok"']}
  - load: {after: 0s, post: ` + url + `/load, body_file: bytes}
  gone: [{dial: {get: "http://127.0.0.1:1/"}}]
`
	for name, content := range map[string]string{"bytes": strings.Repeat("\xff\x00", 4_000), "flows.yaml": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			o.t.Fatal(err)
		}
	}
	o.print("loadworker run --run evidence --qps 200 --duration 1s --no-check --workload " + filepath.Join(dir, "flows.yaml"))
	for _, flags := range []string{"", " --slowest", " --class status", " --step load"} {
		o.print("loadctl samples evidence" + flags)
	}
	target.kill(syscall.SIGTERM)
	o.result(target)
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		o.t.Fatal(err)
	}
	traced := "--qps 100 --duration 1s --no-check --trace --trace-sampled 50% --trace-url 'https://traces.example/${trace_id}' --expect 404 --url "
	o.print("loadworker run --run named --insecure --no-keep-alive " + traced + "https://localhost:" + port + "/")
	o.result(o.begin(1, "loadworker run --run refused --sample meta "+traced+"http://localhost:1/")) // names are looked up, nothing is connected
	for _, run := range []string{"named", "refused"} {
		o.print("loadctl samples " + run)
	}
}

// routed is the output of a target with routes, for a run whose requests differ. Each value comes once.
func routed(o *outputs) {
	target := o.begin(0, "loadctl target --listen 127.0.0.1:0 --shop --route '/slow/*=latency=1ms' --unique 'json user'")
	url := target.says(`counting at (http\S+)`)
	o.print(`loadworker run --run routed --qps 100 --duration 500ms -d '{"user": "u${ordinal}"}' --url ` + url + "/login")
	target.kill(syscall.SIGTERM)
	unique := map[string]any{"of": "json user", "values": number(50), "twice": number(0), "without": number(0), "not_counted": number(0)}
	if doc := o.result(target).(map[string]any); !one(func(v any) bool { return maps.Equal(v.(map[string]any), unique) })(doc["unique"]) {
		o.t.Errorf("%v", doc)
	}
}

// limited is the output of loadctl limiters.
func limited(o *outputs) {
	o.print("loadctl limiters")
	o.print("loadctl limiters gcra")
}

// budgeted is the life of budgets, in a Redis that had none, with runs that hold something.
func budgeted(o *outputs) {
	// ask is a call of a run. It returns the next one, which obeys.
	ask := func(a reserve.Ask, people string) reserve.Ask {
		g, err := ledger.Ledger{Client: o.redis.Client()}.Ask(o.t.Context(), a, people)
		if err != nil || g.Status != "OK" {
			o.t.Fatalf("%+v: %+v, error %v", a, g, err)
		}
		a.Right, a.Budgets = reserve.Right{Rate: g.Rate, Version: g.Version, End: g.End}, g.Budgets
		if g.Cap > 0 {
			a.Want = g.Cap
		}
		return a
	}
	o.print("loadctl budget ls")
	o.print("loadctl budget show api.example.com")
	ask(reserve.Ask{Host: "early.test:80", Run: "uid", Want: 1e6}, "")
	o.print("loadctl budget show early.test") // no budget bounds it
	first := o.begin(0, "loadctl budget set '*' 900 --timeout 10m")
	o.await("loadctl budget ls", not(is("quiet_until", nil)))
	o.result(first)
	checkout := ledger.People{Run: "checkout", Who: "ann@desk", Since: 1}.Text()
	run := ask(reserve.Ask{Host: "api.example.com:443", Run: "uid", Want: 50e6}, checkout)
	cut := o.begin(0, "loadctl budget set api.example.com 40 --cut --note agreed --timeout 10m")
	o.await("loadctl budget ls", func(doc any) bool {
		return one(is("down_to", number(40)))(doc.(map[string]any)["rows"])
	})
	run = ask(ask(run, checkout), checkout)
	o.result(cut)
	next := o.begin(0, "loadctl create next --url http://api.example.com:443/ --qps 20 --wait-budget 1h")
	o.await("loadctl budget show api.example.com", func(doc any) bool {
		return one(is("run", "next"))(doc.(map[string]any)["waiting"])
	})
	run.Want = 0
	ask(run, checkout)
	o.result(next)
	for _, command := range []string{"freeze www --why incident", "thaw www", "freeze www --why incident", "set gone 1", "rm gone"} {
		o.print("loadctl budget " + command + " --timeout 10m")
	}
	o.print("loadctl budget thaw api.example.com") // is so already
	ask(reserve.Ask{Host: "other.test:80", Run: "uid", Want: 20e6}, "")
	for _, command := range []string{"ls", "show api.example.com:443", "show '*'", "show www"} {
		o.print("loadctl budget " + command)
	}
}

// gated is a run with a limiter.
func gated(o *outputs) {
	worker := o.begin(0, "loadworker run --run gated --url noop:// --qps 100 --limiter token-bucket --burst 20")
	worker.says(`(created run)`)
	o.print("loadctl set-burst gated 10")
	o.print("loadctl set-burst gated 10") // is so already
	o.await("loadctl status gated", is("limiter", "token-bucket, burst 10"))
	o.print("loadctl stop gated")
	if doc := o.result(worker); !is("limiter", "token-bucket, burst 10")(doc) {
		o.t.Errorf("%v", doc)
	}
}

// mixed is a run of two requests, of which one fails, and one of flows, with steps that come too late.
func mixed(o *outputs) {
	file := filepath.Join(o.t.TempDir(), "targets.txt")
	if err := os.WriteFile(file, []byte("noop://\nhttp://127.0.0.1:1/\n"), 0o600); err != nil {
		o.t.Fatal(err)
	}
	o.print("loadworker run --run mixed --qps 100 --duration 500ms --no-check --targets " + file)
	o.print("loadctl report mixed")
	target := o.begin(0, "loadctl target --latency 5ms --jitter 10ms --listen 127.0.0.1:0")
	url := target.says(`counting at (http\S+)`)
	flows := filepath.Join(o.t.TempDir(), "flows.yaml")
	text := "flows:\n  goes on:\n  - a: {get: " + url + "/a}\n  - b: {after: 10ms, get: " + url + "/b}\n  - c: {at: 1h, get: " + url + "/c}\n" +
		"  fails:\n  - d: {get: http://127.0.0.1:1/}\n  - e: {get: http://127.0.0.1:1/}\n" +
		"  leaves out:\n  - f: {get: " + url + "/f}\n  - if: ${status} == 500\n    steps: [g: {get: " + url + "/g}]\n"
	if err := os.WriteFile(flows, []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
	worker := o.begin(0, "loadworker run --run flows --qps 200 --max-in-flight 1 --max-lag 1ms --no-check --workload "+flows)
	worker.says(`(created run)`)
	o.await("loadctl report flows", func(doc any) bool {
		object, _ := doc.(map[string]any)
		return one(is("name", "b"), not(is("sent", number(0))), not(is("followed_late", nil)))(object["steps"]) && one(is("name", "g"), not(is("bypassed", nil)))(object["steps"])
	})
	o.print("loadctl stop flows")
	o.result(worker)
	target.kill(syscall.SIGTERM)
	o.result(target)
}

// rehearsed is what workload files would send: with and without a rate, data files and several steps.
func rehearsed(o *outputs) {
	dir := o.t.TempDir()
	for name, content := range map[string]string{
		"users.csv":  "name\nAnn\n",
		"one.yaml":   "flows: {f: [s: {get: http://127.0.0.1:1/, stream: sse, goals: ttft<1s}]}\npick: random\n",
		"wave.yaml":  "flows: {f: [s: {get: http://127.0.0.1:1/}]}\nprofile: sine:mean=5,amplitude=1,period=1m\nduration: 5m\narrivals: poisson\n",
		"seats.yaml": "flows: {f: [s: {get: http://127.0.0.1:1/}]}\nstages: [10s:c=4, 20s:c=8]\n",
		"each.yaml": "base: http://127.0.0.1:1\nrate: 100 requests/s\nrate_of: requests\nflows:\n  f:\n  - a: {get: /}\n" +
			"  - if: ${status} == 200\n    steps: [b: {after: exp 2s, get: /}]\n  - if: 1 > 2\n    steps: [c: {get: /}]\n",
		"ramp.yaml": "flows: {f: [s: {get: http://127.0.0.1:1/}]}\nstages: [10s:200, 20s:0]\n",
		"shop.yaml": "base: http://127.0.0.1:1\nrate: 100 flows/s\ndata: {users: {csv: users.csv}}\nthresholds: errors:rate<1%\nflows:\n  buy:\n" +
			"  - login: {post: /login, json: {user: \"${users.name}\"}, take: {token: json token}}\n  - pay: {after: 1s, post: /pay}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			o.t.Fatal(err)
		}
	}
	for _, name := range []string{"one.yaml", "shop.yaml", "wave.yaml", "ramp.yaml", "seats.yaml", "each.yaml"} {
		o.print("loadctl workload check " + filepath.Join(dir, name))
	}
}

// machine is the output of commands without a run.
func machine(o *outputs) {
	o.print("loadctl version")
	o.print("loadworker version")
	o.print("loadctl profile show --stage 10s:500 --stage 5s:0")
	o.print("loadctl profile show sine:mean=1k,amplitude=400,period=1m")
	o.print("loadctl doctor --max-connections 10")
	nobody := "redis://127.0.0.1:" + strconv.Itoa(redistest.FreePort(o.t))
	o.result(o.begin(104, "loadctl doctor --max-connections 10 --redis "+nobody))
}
