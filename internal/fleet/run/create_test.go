package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
	"github.com/loadctl/loadctl/targets/rows"
	"github.com/loadctl/loadctl/targets/trace"
)

func TestOneOfManyCreates(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		const n = 50
		uids, created := make([]string, n), make([]bool, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				r, first, err := Create(t.Context(), b.client, "one", secretSpec(), Options{})
				if err != nil {
					t.Error(err)
					return
				}
				uids[i], created[i] = r.UID, first
			})
		}
		all.Wait()
		creators := 0
		for i := range n {
			if created[i] {
				creators++
			}
			if uids[i] != uids[0] || uids[i] == "" {
				t.Errorf("uid %q of one and %q of another", uids[i], uids[0])
			}
		}
		r, err := Open(t.Context(), b.client, "one")
		if err != nil {
			t.Fatal(err)
		}
		if creators != 1 || r.UID != uids[0] || b.events(r) != "[create]" {
			t.Errorf("%d created, uid %q, events %s", creators, r.UID, b.events(r))
		}
		if want := secretSpec(); len(r.Spec.Diff(want)) > 0 {
			t.Errorf("the spec has changed on its way: %v", r.Spec.Diff(want))
		}
	})
}

func TestAnotherSpecIsRefused(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", secretSpec(), Options{})
		if err := r.Touch(t.Context()); err != nil { // the first call of the server notes when it came
			t.Fatal(err)
		}
		before, last := b.dump(), b.client.HGet(t.Context(), r.Keys.Budget, "last").Val()
		for says, change := range map[string]func(*spec.Spec){
			"qps: 100 there, 200 here":                      func(s *spec.Spec) { s.QPS = pacer.PerSecond(200) },
			"duration: 0s there, 1m0s here":                 func(s *spec.Spec) { s.Duration = time.Minute },
			"min-workers: 1 there, 4 here":                  func(s *spec.Spec) { s.MinWorkers = 4 },
			"stages:  there, 1m:5 here":                     func(s *spec.Spec) { s.Stages = []string{"1m:5"} },
			"on-redis-loss: permit there, stop here":        func(s *spec.Spec) { s.OnRedisLoss = spec.LossStop },
			"permit-for: 10s there, 5s here":                func(s *spec.Spec) { s.PermitFor = 5 * time.Second },
			"deadman: 0s there, 30s here":                   func(s *spec.Spec) { s.Deadman = 30 * time.Second },
			"limiter: none there, token-bucket here":        func(s *spec.Spec) { s.Limiter = "token-bucket" },
			"burst that it was created with: none there, 5": func(s *spec.Spec) { s.Burst = 5 },
			"window: 1s there, 2s here":                     func(s *spec.Spec) { s.Window = 2 * time.Second },
			"spread: true there, false here":                func(s *spec.Spec) { s.Together = true },
			"thresholds: none there, errors:rate<1%, rate":  func(s *spec.Spec) { s.Thresholds = []string{"errors:rate<1%", "rate:rate>1"} },
			"queries: none there, a=b, c=d here":            func(s *spec.Spec) { s.Queries = []report.Query{{Name: "a", PromQL: "b"}, {Name: "c", PromQL: "d"}} },
			"query-stale: 30s there, 1m0s here":             func(s *spec.Spec) { s.QueryStale = time.Minute },
			"header Authorization differs":                  func(s *spec.Spec) { s.Target.Headers[0].Value = "Bearer other" },
			"body differs":                                  func(s *spec.Spec) { s.Target.Body = []byte("other") },
			"user or password of url differs":               func(s *spec.Spec) { s.Target.URL = "http://user:other@127.0.0.1:8080/" },
			"url: http://redacted@127.0.0.1:8080/ there, ":  func(s *spec.Spec) { s.Target.URL = "http://user:hunter2@127.0.0.1:8080/x" },
		} {
			spec := secretSpec()
			change(&spec)
			_, _, err := Create(t.Context(), b.client, "x", spec, Options{New: true})
			b.wants(err, nil, says, "take another name, or --new once it has ended")
			if e, ok := errors.AsType[*DifferentError](err); !ok || len(e.Lines) != 1 {
				t.Errorf("%v: not one difference", err)
			}
		}
		b.client.HSet(t.Context(), r.Keys.Budget, "last", last) // what the clock says
		if !maps.Equal(before, b.dump()) {
			t.Error("an attempt has changed something")
		}
	})
}

// TestEveryFieldIsCompared: if Diff forgot a new field of a spec, workers with different specs could join one run.
func TestEveryFieldIsCompared(t *testing.T) {
	check := func(name string, diff int) {
		if diff == 0 && name != "Version" && name != "CreatedBy" { // these say who wrote the spec, not what it asks for
			t.Errorf("field %s is not compared", name)
		}
	}
	for i := range reflect.TypeFor[spec.Spec]().NumField() {
		f := reflect.TypeFor[spec.Spec]().Field(i)
		if f.Name == "Target" || f.Name == "Origin" { // a part of its own; which part of a spec a file says
			continue
		}
		other := constant(100)
		vary(t, reflect.ValueOf(&other).Elem().Field(i))
		check(f.Name, len(constant(100).Diff(other)))
	}
	for i := range reflect.TypeFor[targets.Spec]().NumField() {
		if !reflect.TypeFor[targets.Spec]().Field(i).IsExported() {
			continue // it is not stored
		}
		other := constant(100)
		vary(t, reflect.ValueOf(&other.Target).Elem().Field(i))
		check("Target."+reflect.TypeFor[targets.Spec]().Field(i).Name, len(constant(100).Diff(other)))
	}
}

// vary gives a field another value.
func vary(t *testing.T, f reflect.Value) {
	t.Helper()
	switch f.Interface().(type) {
	case string:
		f.SetString(f.String() + "x")
	case bool:
		f.SetBool(!f.Bool())
	case int, int64, time.Duration, trace.Share:
		f.SetInt(f.Int() + 2) // 1 more may be the default, as of Streams
	case []string:
		f.Set(reflect.ValueOf([]string{"x"}))
	case []byte:
		f.SetBytes([]byte("x"))
	case []targets.Header:
		f.Set(reflect.ValueOf([]targets.Header{{Name: "X", Value: "y"}}))
	case []targets.Flow:
		f.Set(reflect.ValueOf([]targets.Flow{{Name: "x"}}))
	case []targets.Scheme:
		f.Set(reflect.ValueOf([]targets.Scheme{{Name: "x", Version: "1"}}))
	case map[string]string:
		f.Set(reflect.ValueOf(map[string]string{"x": "y"}))
	case []rows.Source:
		f.Set(reflect.ValueOf([]rows.Source{{Name: "x"}}))
	case []report.Query:
		f.Set(reflect.ValueOf([]report.Query{{Name: "x"}}))
	case events.Options:
		f.Set(reflect.ValueOf(events.Options{Kind: events.SSE}))
	case pacer.Rate:
		f.Set(reflect.ValueOf(pacer.PerSecond(7)))
	default:
		t.Fatalf("no other value of type %s is known here", f.Type())
	}
}

func TestSpecsWrittenDifferently(t *testing.T) {
	parse := func(rate string) pacer.Rate {
		r, err := pacer.ParseRate(rate)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, c := range []struct {
		a, b spec.Spec
		same bool
	}{
		{spec.Spec{QPS: parse("1k")}, spec.Spec{QPS: parse("1000")}, true},
		{spec.Spec{QPS: parse("30/1m")}, spec.Spec{QPS: parse("0.5")}, true},
		{spec.Spec{QPS: parse("1k")}, spec.Spec{QPS: parse("1001")}, false},
		{spec.Spec{Stages: []string{"1m:1k"}}, spec.Spec{Stages: []string{"60s:1000"}}, true},
		{spec.Spec{Stages: []string{"1m:1k"}}, spec.Spec{Stages: []string{"30s:1k", "30s:1k"}}, false},
		{spec.Spec{Stages: []string{"1m:1k"}}, spec.Spec{Stages: []string{"61s:1k"}}, false},
		{spec.Spec{}, spec.Spec{QueryStale: spec.DefaultQueryStale}, true},
		{spec.Spec{Queries: []report.Query{{Name: "a", PromQL: "b"}}}, spec.Spec{Queries: []report.Query{{Name: "a", PromQL: "c"}}}, false},
		{spec.Spec{Profile: "sine:mean=1k,amplitude=400,period=1m"}, spec.Spec{Profile: "sine:period=60s,mean=1000,amplitude=0.4k"}, true},
		{spec.Spec{Profile: "steps:from=1,to=5,by=1,every=1s"}, spec.Spec{Profile: "steps:from=1,to=5,by=2,every=1s"}, false},
		{spec.Spec{Thresholds: []string{"latency:med<250"}}, spec.Spec{Thresholds: []string{"latency : p(50) < 0.25s"}}, true},
		{spec.Spec{Thresholds: []string{"latency:med<250"}}, spec.Spec{Thresholds: []string{"latency:med<=250"}}, false},
		{spec.Spec{Thresholds: []string{"latency:med<250"}}, spec.Spec{}, false},
		{spec.Spec{Profile: "nonsense"}, spec.Spec{Profile: "other nonsense"}, false},
	} {
		if diff := c.a.Diff(c.b); (len(diff) == 0) != c.same {
			t.Errorf("%+v and %+v: %v", c.a, c.b, diff)
		}
	}
}

func TestEndedRun(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		spec := constant(1000)
		spec.Requests = 10
		r, _ := b.create("e", spec, Options{})
		b.member(r, "w").over()
		before := b.dump()
		again, created := b.create("e", spec, Options{})
		if created || again.Ended.IsZero() || !again.Ended.Equal(b.state(r).EndedAt) || again.UID != r.UID {
			t.Errorf("created %v, ended at %v", created, again.Ended)
		}
		if !maps.Equal(before, b.dump()) {
			t.Error("joining a run that has ended changes it")
		}
		anew, created := b.create("e", constant(5), Options{New: true})
		if !created || !anew.Ended.IsZero() || anew.UID == r.UID || b.events(anew) != "[create]" {
			t.Errorf("created %v, ended at %v, events %s", created, anew.Ended, b.events(anew))
		}
		if reply := b.member(r, "w").renew(); reply.Status != lease.NoState {
			t.Errorf("a worker of the run that was replaced gets %s", reply.Status)
		}
		if _, err := r.Pause(t.Context()); !errors.Is(err, ErrNoRun) {
			t.Errorf("a command for the run that was replaced: %v", err)
		}
		if _, err := r.State(t.Context()); !errors.Is(err, ErrNoRun) {
			t.Errorf("the state of the run that was replaced: %v", err)
		}
	})
}

// TestLiveRunIsNotReplaced: whatever its phase, a run that has not ended is joined.
func TestLiveRunIsNotReplaced(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("live", constant(10), Options{})
		joined := func(phase string) {
			t.Helper()
			again, created := b.create("live", constant(10), Options{New: true})
			if created || again.UID != r.UID || !again.Ended.IsZero() || b.state(r).Phase != phase {
				t.Errorf("%s: created %v, ended %v", b.state(r).Phase, created, again.Ended)
			}
		}
		joined("waiting")
		m := b.member(r, "w").start()
		joined("running")
		b.must(r.Pause(t.Context()))
		joined("paused")
		m.renew()
		b.must(r.Stop(t.Context(), func([]Pending) { m.halt() }))
		if _, created := b.create("live", constant(10), Options{New: true}); !created {
			t.Error("a stopped run is not replaced")
		}
	})
}

// TestBrokenState: for each kind of damage under a name, the error says what to do, and doing that helps.
func TestBrokenState(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		keys := KeysOf("x")
		put := func(key, text string) func() error {
			return func() error { return b.client.Set(t.Context(), key, text, 0).Err() }
		}
		for name, harm := range map[string]func() error{
			"budget gone":      func() error { return b.client.Del(t.Context(), keys.Budget).Err() },
			"spec gone":        func() error { return b.client.Del(t.Context(), keys.Spec).Err() },
			"spec: not JSON":   put(keys.Spec, "hunter2"),
			"spec: foreign":    put(keys.Spec, `{"password":"hunter2"}`),
			"spec: an array":   put(keys.Spec, `["hunter2"]`),
			"spec: null":       put(keys.Spec, `null`),
			"spec: wrong type": put(keys.Spec, fmt.Sprintf(`{"version":%d,"qps":"hunter2"}`, spec.Version)),
			"budget: a string": put(keys.Budget, "hunter2"),
			"core gone":        func() error { return b.client.HDel(t.Context(), keys.Budget, "core").Err() },
			"core: a word":     func() error { return b.client.HSet(t.Context(), keys.Budget, "core", "many").Err() },
			"core: a byte": func() error {
				return b.client.HSet(t.Context(), keys.Budget, "core", b.client.HGet(t.Context(), keys.Budget, "core").Val()+"x").Err()
			},
			"laws: foreign": func() error { return b.client.HSet(t.Context(), keys.Budget, "laws", "1:2:3").Err() },
			"spec: a list": func() error {
				b.client.Del(t.Context(), keys.Spec)
				return b.client.LPush(t.Context(), keys.Spec, "hunter2").Err()
			},
		} {
			t.Run(name, func(t *testing.T) {
				b := &bed{T: t, client: b.client}
				b.create("x", secretSpec(), Options{})
				if err := harm(); err != nil {
					t.Fatal(err)
				}
				_, err := Open(t.Context(), b.client, "x")
				b.wants(err, spec.ErrBroken, "run x", "loadctl rm x")
				_, _, err = Create(t.Context(), b.client, "x", secretSpec(), Options{New: true})
				b.wants(err, spec.ErrBroken, "run x", "loadctl rm x")
				list, err := List(t.Context(), b.client)
				if err != nil || len(list) != 1 || list[0].Phase != "broken" {
					t.Errorf("list: %+v, %v", list, err)
				}
				if err := Remove(t.Context(), b.client, "x", false); err != nil { // its workers may be alive
					b.wants(err, spec.ErrBroken, "loadctl rm --force x removes what is there")
					if err := Remove(t.Context(), b.client, "x", true); err != nil {
						t.Error(err)
					}
				}
				for key := range b.dump() {
					if !strings.HasPrefix(key, keys.RemovedOf("")) { // for its workers, where it had any
						t.Errorf("%s is left", key)
					}
				}
			})
		}
	})
}

// TestOtherVersionIsNotReplaced: only a program of its version can see that a run has ended. Here the rest of the state
// has the form of this version, so that a script could misread it.
func TestOtherVersionIsNotReplaced(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(1), Options{})
		b.stop(r)
		text := b.client.Get(t.Context(), r.Keys.Spec).Val()
		for version, want := range map[int]error{spec.Version - 1: spec.ErrOlder, spec.Version + 1: spec.ErrNewer} {
			b.client.Set(t.Context(), r.Keys.Spec, strings.Replace(text, fmt.Sprint(spec.Version), fmt.Sprint(version), 1), 0)
			before := b.dump()
			_, _, err := Create(t.Context(), b.client, "x", r.Spec, Options{New: true})
			b.wants(err, want, fmt.Sprint(version))
			if !maps.Equal(before, b.dump()) {
				t.Errorf("version %d was changed", version)
			}
		}
		b.client.Set(t.Context(), r.Keys.Spec, text, 0)
		if _, created, err := Create(t.Context(), b.client, "x", r.Spec, Options{New: true}); err != nil || !created {
			t.Errorf("the same version: created %v, %v", created, err)
		}
	})
}

func TestNewerSpec(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(1), Options{})
		text, err := json.Marshal(map[string]any{"version": spec.Version + 1, "qps": map[string]int{"of the": 1}})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.client.Set(t.Context(), KeysOf("x").Spec, text, 0).Err(); err != nil {
			t.Fatal(err)
		}
		_, err = Open(t.Context(), b.client, "x")
		b.wants(err, spec.ErrNewer, "use a newer loadctl")
		_, _, err = Create(t.Context(), b.client, "x", r.Spec, Options{})
		b.wants(err, spec.ErrNewer, "use a newer loadctl")
		if list, err := List(t.Context(), b.client); err != nil || len(list) != 1 || list[0].Phase != "newer" {
			t.Errorf("list: %+v, %v", list, err)
		}
		b.wants(Remove(t.Context(), b.client, "x", false), spec.ErrNewer, "--force")
		b.client.Set(t.Context(), KeysOf("x").Spec, `{"version":1}`, 0)
		_, err = Open(t.Context(), b.client, "x")
		b.wants(err, spec.ErrOlder, "the loadctl that created it", "loadctl rm --force x")
		if list, err := List(t.Context(), b.client); err != nil || len(list) != 1 || list[0].Phase != "older" {
			t.Errorf("list: %+v, %v", list, err)
		}
		// Runs of older versions are neither read nor replaced, even if they have ended.
		for version, kept := range map[int][]any{
			2: {"phase", "ended", "ended", "1700000000000000", "n", "0", "pieces", "1:1:1:0:1"},
			4: {"counts", `[1700000000000000,0,0,0,0,""]`, "state", `["ended"` + strings.Repeat(",0", 22) + "]", "identity", "",
				"recalls", "", "ended", "1700000000000000"},
		} {
			b.client.Del(t.Context(), r.Keys.Budget)
			b.client.HSet(t.Context(), r.Keys.Budget, append(kept, "uid", r.UID)...)
			b.client.Set(t.Context(), r.Keys.Spec, fmt.Sprintf(`{"version":%d}`, version), 0)
			before, says := b.dump(), fmt.Sprint(version, ", and this program needs")
			_, err = Open(t.Context(), b.client, "x")
			b.wants(err, spec.ErrOlder, says)
			_, _, err = Create(t.Context(), b.client, "x", r.Spec, Options{New: true})
			b.wants(err, spec.ErrOlder, says)
			if list, err := List(t.Context(), b.client); err != nil || len(list) != 1 || list[0].Phase != "older" || !maps.Equal(before, b.dump()) {
				t.Errorf("list: %+v, %v", list, err)
			}
		}
		if err := Remove(t.Context(), b.client, "x", true); err != nil {
			t.Error(err)
		}
	})
}

func TestNames(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		for _, name := range []string{"a", "0", "A-b_c.9", strings.Repeat("x", 64)} {
			if err := ValidateName("run", name); err != nil {
				t.Error(err)
			}
		}
		for _, name := range []string{
			"", ".", "-a", "_a", "a b", "a/b", "a:b", "{a}", "a}b", "a\nb", "a\n", "ä", "a*", strings.Repeat("x", 65), strings.Repeat("ä", 1<<20), "a\x00",
		} {
			_, _, err := Create(t.Context(), b.client, name, constant(1), Options{})
			b.wants(err, nil, "use 1 to 64 letters")
			if len(err.Error()) > 300 {
				t.Errorf("%.20q: the message has %d bytes", name, len(err.Error()))
			}
			_, err = Open(t.Context(), b.client, name)
			b.wants(err, nil, "use 1 to 64 letters")
			b.wants(Remove(t.Context(), b.client, name, true), nil, "use 1 to 64 letters")
		}
		_, _, err := Create(t.Context(), b.client, "x.loadctl", constant(1), Options{})
		b.wants(err, nil, `run "x.loadctl": only files have names that end in .loadctl; take another name`)
		// Older programs could create runs with such names. They can be stopped and removed.
		_, err = Open(t.Context(), b.client, "x.loadctl")
		b.wants(err, ErrNoRun, "run x.loadctl")
		if n := b.client.DBSize(t.Context()).Val(); n != 0 {
			t.Errorf("%d keys were written", n)
		}
	})
}

func TestRemove(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		b.wants(Remove(t.Context(), b.client, "x", false), ErrNoRun)
		r, _ := b.create("x", constant(10), Options{})
		b.member(r, "w").renew()
		b.wants(Remove(t.Context(), b.client, "x", false), nil, "loadctl stop x", "--force")
		if s := b.state(r); s.Members != 1 {
			t.Errorf("%d members after rm was refused", s.Members)
		}
		if err := Remove(t.Context(), b.client, "x", true); err != nil {
			t.Fatal(err)
		}
		left := b.client.Keys(t.Context(), "*").Val()
		if ttl := b.client.TTL(t.Context(), r.Keys.RemovedOf(r.UID)).Val(); len(left) != 1 || ttl <= 0 || ttl > removedFor {
			t.Errorf("%q are left; that it was removed is known for %v", left, ttl)
		}
		b.wants(Remove(t.Context(), b.client, "x", true), ErrNoRun)
		r, _ = b.create("x", constant(10), Options{})
		m := b.member(r, "w")
		m.renew()
		m.halt()
		if err := Remove(t.Context(), b.client, "x", false); err != nil {
			t.Errorf("a run whose only member has left: %v", err)
		}
		r, _ = b.create("x", losing(spec.LossStop, 0, 0), Options{})
		b.member(r, "w").start() // then it is killed
		b.must(r.Stop(t.Context(), nil))
		if err := Remove(t.Context(), b.client, "x", false); err != nil {
			t.Errorf("a run that was stopped, and whose only member is dead: %v", err)
		}
	})
}

func TestListForgetsWhatHasExpired(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		for _, name := range []string{"a", "b", "c"} {
			b.create(name, constant(10), Options{})
		}
		if err := b.client.Del(t.Context(), KeysOf("b").All()...).Err(); err != nil {
			t.Fatal(err)
		}
		b.client.ZAdd(t.Context(), index, redis.Z{Score: 1, Member: "not a name"})
		list, err := List(t.Context(), b.client)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 2 || list[0].Run != "a" || list[1].Run != "c" || list[0].Phase != "waiting" || list[0].CreatedAt.IsZero() {
			t.Errorf("%+v", list)
		}
		if left := b.client.ZRange(t.Context(), index, 0, -1).Val(); len(left) != 2 {
			t.Errorf("still in the index: %v", left)
		}
		// A worker that joins adds the run to the list if its creator died before doing so.
		b.client.Del(t.Context(), index)
		b.create("c", constant(10), Options{})
		if list, err = List(t.Context(), b.client); err != nil || len(list) != 1 || list[0].Run != "c" {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// TestLoss: the budget begins with the settings of the spec, in µs. Impossible settings are refused.
func TestLoss(t *testing.T) {
	b := newBed(t)
	for i, c := range []struct {
		loss            string
		permit, deadman time.Duration
		says            string // what the error says
		hold            int64  // µs
	}{
		{"", 0, 0, "", 10_000_000},
		{spec.LossPermit, 0, 0, "", 10_000_000},
		{spec.LossPermit, time.Second, 3 * time.Second, "", 1_000_000},
		{"", 10 * time.Minute, 24 * time.Hour, "", 600_000_000},
		{spec.LossStop, 0, 0, "", 2_000_000},
		{spec.LossHold, 0, 30 * time.Second, "", 315_360_000_000_000},
		{"fire", 0, 0, `--on-redis-loss "fire": write one of permit, stop, hold`, 0},
		{spec.LossStop, time.Second, 0, "--permit-for and --on-redis-loss stop: only permit has a length, leave --permit-for out", 0},
		{spec.LossHold, time.Second, 0, "--permit-for and --on-redis-loss hold", 0},
		{spec.LossPermit, time.Second - 1, 0, "--permit-for: give a time from 1s to 10m0s, such as 10s", 0},
		{"", 10*time.Minute + 1, 0, "--permit-for: give a time from", 0},
		{"", -1, 0, "--permit-for: give a time from", 0},
		{"", 0, 3*time.Second - 1, "--deadman: give a time from 3s to 24h0m0s, such as 30s; 0 means never", 0},
		{"", 0, 24*time.Hour + 1, "--deadman: give a time from", 0},
		{"", 0, -1, "--deadman: give a time from", 0},
	} {
		s := losing(c.loss, c.permit, c.deadman)
		if err := s.Validate(); c.says == "" && err != nil || c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says)) {
			t.Errorf("%q %v %v: %v, want %q", c.loss, c.permit, c.deadman, err, c.says)
		}
		if c.says != "" {
			continue
		}
		r, _ := b.create(fmt.Sprint("x", i), s, Options{})
		if core := b.core(r); core["hold"] != c.hold || core["deadman"] != c.deadman.Microseconds() {
			t.Errorf("%q %v %v: %v", c.loss, c.permit, c.deadman, core)
		}
	}
}
