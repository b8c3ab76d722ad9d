package lua_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/redistest"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer"
)

// bench calls the scripts as they are, with any arguments. The names of its keys are no run's: scripts must not rely on them.
type bench struct {
	*testing.T
	client *redis.Client
	keys   map[string]string
}

// each runs a test on a real and on an embedded server.
func each(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client *redis.Client) { test(t, newBench(t, client)) })
}

func newBench(t *testing.T, client *redis.Client) *bench {
	b := &bench{T: t, client: client, keys: map[string]string{}}
	for i, part := range []string{"spec", "budget", "workers", "seen", "totals", "snapshots", "events", "laws", "series"} {
		b.keys[part] = fmt.Sprintf("{tag}%d", 100-i)
	}
	return b
}

// names are the keys of a script in the order of its header.
func (b *bench) names(script string) []string {
	parts := "budget workers seen events laws"
	script, _, _ = strings.Cut(script, "/")
	switch script {
	case "create":
		parts = "spec budget workers seen totals snapshots events laws series"
	case "renew", "remove":
		parts = "budget workers due rich loose laws log events"
	case "order":
		parts = "budget workers due rich loose laws log events snapshots"
	case "make":
		parts = "budget workers due rich loose laws log events spec totals snapshots series"
	case "grant":
		return []string{b.keys["budget"], "{tag}limiter"}
	case "snapshot":
		parts = "budget totals snapshots series spec workers seen events laws"
	}
	var names []string
	for part := range strings.FieldsSeq(parts) {
		names = append(names, b.keys[part])
	}
	switch script {
	case "create":
		names = append(names, "{tag}limiter", "{tag}stopped") // which this run does not have
	case "make":
		names = append(names, "{tag}stopped", "{tag}limiter")
	}
	return names
}

// call runs a script and returns its reply as a list.
func (b *bench) call(script string, args ...any) ([]string, error) {
	cmd := redis.NewScript(lua.Text(script)).Run(b.Context(), b.client, b.names(script), args...)
	if text, err := cmd.Text(); err == nil {
		return []string{text}, nil
	}
	all, err := cmd.Slice()
	texts := make([]string, len(all))
	for i, x := range all {
		texts[i] = fmt.Sprint(x)
	}
	return texts, err
}

func (b *bench) must(script string, args ...any) []string {
	b.Helper()
	reply, err := b.call(script, args...)
	if err != nil {
		b.Fatalf("%s %v: %v", script, args, err)
	}
	return reply
}

// lease makes a lease call.
func (b *bench) lease(args ...any) pacer.Reply {
	b.Helper()
	reply, err := pacer.ParseReply(b.must("lease", args...))
	if err != nil {
		b.Fatal(err)
	}
	return reply
}

// status is what a script says first.
func (b *bench) status(script string, args ...any) string {
	b.Helper()
	if script == "lease" {
		return string(b.lease(args...).Status)
	}
	return b.must(script, args...)[0]
}

// The arguments of calls that are right. The schedule is 1000/s.
func createArgs() []any {
	return []any{"{}", "uid", 0, 3_600_000, "me", "pieces", "1000:1000:1:0:16", "loop", 0, "span", 0, "left", -1, "min", 1,
		"horizon", 500_000, "ttl", 1_000_000, "qmax", 10_000}
}

func leaseArgs(worker string, seq int) []any {
	ask := pacer.Ask{Seq: int64(seq), Until: time.Now().Add(500 * time.Millisecond).UnixMicro(), Weight: 1, RTTHi: 1000}
	return []any{"uid", worker, "inc1", ask.Numbers()}
}

// figure is the arguments of a lease call with the number at a position, counted from 1, replaced.
func figure(args []any, position int, value int64) []any {
	numbers := []byte(args[3].(string))
	binary.LittleEndian.PutUint64(numbers[8*(position-1):], uint64(value))
	return with(args, 4, string(numbers))
}

func commandArgs(id, kind string) []any {
	return []any{"uid", id, kind, "me", "what", "channel", "500:500:1:0:8", 0}
}

func leaveArgs(worker string) []any { return []any{"uid", worker, "inc1", "left"} }

func snapshotArgs(seq int) []any {
	return []any{"uid", "w/inc1", "total", "interval", 1000, seq, "counts", 0, 0, "points", ":1:0", increment(0, 1), ":1:0:31", increment(7, 1)}
}

// increment adds n < 256 to a counter of a page.
func increment(counter, n byte) string { return string([]byte{counter, n, 0, 0, 0, 0}) }

// with is args with the one at a position, counted from 1 as in Lua, replaced.
func with(args []any, position int, value any) []any {
	args = slices.Clone(args)
	args[position-1] = value
	return args
}

func (b *bench) dump() map[string]string {
	b.Helper()
	return redistest.Contents(b, b.client)
}

// refuses checks that a call is an error of one line that names the script and the argument, and that nothing was changed.
func (b *bench) refuses(script, argument string, args []any) {
	b.Helper()
	before := b.dump()
	reply, err := b.call(script, args...)
	want := "ERR " + script + ": " + argument
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		b.Errorf("%s %.200v: %q, error %v; want %q", script, fmt.Sprint(args), reply, err, want)
	}
	if !maps.Equal(before, b.dump()) {
		b.Errorf("%s %.200v: a refused call has changed something", script, fmt.Sprint(args))
	}
}

// scenario is a run's life with every script; it returns which keys there are at the end.
func (b *bench) scenario() []string {
	b.Helper()
	b.must("create", createArgs()...)
	b.must("lease", leaseArgs("w", 1)...)
	b.must("lease", leaseArgs("v", 1)...)
	b.must("snapshot", snapshotArgs(1)...)
	for i, kind := range []string{"set-rate", "pause", "resume"} {
		b.must("command", commandArgs(strconv.Itoa(i), kind)...)
	}
	b.must("lease", leaseArgs("w", 2)...)
	b.must("snapshot", snapshotArgs(3)...)
	b.must("leave", leaveArgs("v")...)
	b.must("command", commandArgs("x", "stop")...)
	b.must("lease", leaseArgs("w", 3)...)
	return slices.Sorted(maps.Keys(b.dump()))
}

// TestOnlyTheGivenKeys: whatever the keys are called, these are all that a run has, and all of them expire.
func TestOnlyTheGivenKeys(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		there := b.scenario()
		if want := slices.Sorted(maps.Values(b.keys)); !slices.Equal(there, want) {
			t.Errorf("keys %v, given were %v", there, want)
		}
		for _, key := range there {
			if ttl := b.client.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > time.Hour {
				t.Errorf("key %s lives for %v", key, ttl)
			}
		}
	})
}

// TestOnACluster: a server that serves slots refuses a script that reaches outside of its keys' slot.
func TestOnACluster(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.Start(t, "--cluster-enabled", "yes").Client())
	if err := b.client.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		info, err := b.client.ClusterInfo(t.Context()).Result()
		if err == nil && strings.Contains(info, "cluster_state:ok") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the cluster does not begin: %v\n%s", err, info)
		}
	}
	b.scenario()
}

func TestNoState(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		calls := map[string][]any{
			"lease": leaseArgs("w", 1), "command": commandArgs("c", "pause"), "leave": leaveArgs("w"), "snapshot": snapshotArgs(1),
		}
		for script, args := range calls {
			if status := b.status(script, args...); status != "NOSTATE" {
				t.Errorf("%s without a run: %q", script, status)
			}
		}
		if n := len(b.dump()); n != 0 {
			t.Errorf("%d keys were written", n)
		}
		b.must("create", createArgs()...)
		before := b.dump()
		for script, args := range calls {
			if status := b.status(script, with(args, 1, "another uid")...); status != "NOSTATE" {
				t.Errorf("%s of another run of this name: %q", script, status)
			}
		}
		if !maps.Equal(before, b.dump()) {
			t.Error("the state has changed")
		}
	})
}

// notWhole are no integers; the scripts' tonumber alone would take some of them.
func notWhole() []any {
	return []any{"", "x", "nan", "-nan", "inf", "-inf", "1e300", "1e3", "0x10", "1.5", " 1", "1 ", "1\n", "--1", "+1", "١",
		strings.Repeat("9", 400), "9007199254740994", "-9007199254740994"}
}

// TestNotWhole: where a part of the budget or of a record is missing or is not what was written, a call is an error, and a lease changes nothing.
func TestNotWhole(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		field := func(key, name string, value any) func() error {
			return func() error { return b.client.HSet(t.Context(), b.keys[key], name, value).Err() }
		}
		none := func(name string) func() error {
			return func() error { return b.client.HDel(t.Context(), b.keys["budget"], name).Err() }
		}
		long := strings.Repeat("x", 400)
		for name, harm := range map[string]func() error{
			"no phase": none("phase"), "no counts": none("counts"), "no standby": none("standby"), "no identity": none("identity"), "no recalls": none("recalls"),
			"counts, a word": field("budget", "counts", "many"), "counts, long": field("budget", "counts", long),
			"figures, a word": field("budget", "figures", "many"), "figures, a byte more": field("budget", "figures", long[:23*8+14*8+1]),
			"a record, a word": field("workers", "w", "x"), "a record, long": field("workers", "w", "a b "+long),
		} {
			b.client.FlushAll(t.Context())
			b.must("create", createArgs()...)
			b.must("lease", leaseArgs("w", 1)...)
			b.must("lease", leaseArgs("w", 2)...)
			if err := harm(); err != nil {
				t.Fatal(err)
			}
			before := b.dump()
			for script, args := range map[string][]any{"lease": leaseArgs("w", 3), "leave": leaveArgs("w")} {
				if reply, err := b.call(script, args...); err == nil {
					t.Errorf("%s: %s: %q", name, script, reply)
				}
			}
			if !maps.Equal(before, b.dump()) {
				t.Errorf("%s: the state has changed", name)
			}
			// A command notes first that a controller was heard of.
			if reply, err := b.call("command", commandArgs("c", "pause")...); err == nil {
				t.Errorf("%s: command: %q", name, reply)
			}
		}
	})
}

func plainNot() []any {
	return []any{"", " ", "a b", "a/b", "a,b", "a;b", "a:b", "a|b", "-", "-a", ".a", "a\n", "ä", strings.Repeat("x", 65)}
}

func TestLeaseRefuses(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.must("create", createArgs()...)
		b.must("lease", leaseArgs("w", 1)...)
		right := leaseArgs("w", 2)
		for position, name := range map[int]string{1: "seq", 2: "ack", 3: "until", 4: "weight", 5: "rtt_hi", 6: "phi_held", 7: "leased", 8: "known"} {
			for _, value := range []int64{1<<53 + 2, -1<<53 - 2, math.MaxInt64, math.MinInt64} {
				b.refuses("lease", name, figure(right, position, value))
			}
		}
		for _, c := range []struct {
			position int
			name     string
			value    int64
		}{{1, "seq", 0}, {1, "seq", -1}, {2, "ack", -1}, {4, "weight", 0}, {4, "weight", -1}, {4, "weight", 1_000_001}, {5, "rtt_hi", -1}, {6, "phi_held", -1}, {7, "leased", -1}, {8, "known", -1}} {
			b.refuses("lease", c.name, figure(right, c.position, c.value))
		}
		for _, text := range []string{"", "[1,0,0,1,0,0,0,0]", right[3].(string)[1:], right[3].(string) + "0"} {
			b.refuses("lease", "numbers", with(right, 4, text))
		}
		for _, value := range plainNot() {
			b.refuses("lease", "worker or incarnation", with(right, 2, value))
			b.refuses("lease", "worker or incarnation", with(right, 3, value))
		}
		for n := range right {
			if _, err := b.call("lease", right[:n]...); err == nil {
				t.Errorf("%d arguments are enough", n)
			}
		}
		if reply := b.lease(right...); reply.Status != pacer.StatusOK {
			t.Errorf("after all that: %+v", reply)
		}
	})
}

// TestExtremesMintNothing: arguments at the ends of their ranges get no slot beyond the horizon, and spoil nothing for others.
func TestExtremesMintNothing(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.must("create", createArgs()...)
		const most = 1 << 53
		b.must("lease", leaseArgs("first", 1)...)
		budget, err := lua.Budget(b.client.HGetAll(t.Context(), b.keys["budget"]).Val())
		if err != nil {
			t.Fatal(err)
		}
		started := number(t, budget["started"])
		var next int64
		take := func(reply pacer.Reply) {
			t.Helper()
			first, n := reply.Range.First, reply.Range.N
			// The horizon grows with the round trip, of which no more than half a second is believed.
			if last := (reply.LeasedAt-started)/1000 + 1660; reply.Status != pacer.StatusOK || n > 0 && (first < next || first+n > last) {
				t.Errorf("%s: numbers from %d to %d, granted before were %d, the last one within the horizon is %d", reply.Status, first, first+n, next, last)
			}
			next = max(next, first+n)
		}
		for i, args := range [][]any{
			figure(leaseArgs("a", 1), 3, most), figure(leaseArgs("b", 1), 3, -most), figure(leaseArgs("c", 1), 4, 1_000_000), figure(leaseArgs("d", 1), 5, most),
			figure(leaseArgs("e", 1), 2, most), figure(leaseArgs("f", 1), 6, most), figure(figure(figure(leaseArgs("g", 1), 3, most), 4, 1_000_000), 5, most),
			leaseArgs("h", most-1),
		} {
			take(b.lease(args...))
			take(b.lease(leaseArgs("first", i+2)...))
		}
		before := time.Now()
		reply := b.must("command", commandArgs("c", "set-rate")...)
		if lead := number(t, reply[1]) - before.UnixMicro(); reply[0] != "OK" || lead > 2_000_000 {
			t.Errorf("%q: %d µs ahead", reply, lead)
		}
	})
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestCommandRefuses(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.must("create", createArgs()...)
		b.must("lease", leaseArgs("w", 1)...)
		right := commandArgs("c", "set-rate")
		for _, value := range append(notWhole(), -1) {
			b.refuses("command", "generation", with(right, 8, value))
		}
		for _, value := range plainNot() {
			b.refuses("command", "id", with(right, 2, value))
		}
		for _, value := range []any{"", "explode", "Stop", "set-rate "} {
			b.refuses("command", "kind", with(right, 3, value))
		}
		for _, value := range wrongPieces() {
			b.refuses("command", "pieces", with(right, 7, value))
		}
		for _, value := range append(notWhole(), -1, 0, 1_000_000_001) {
			b.refuses("command", "burst", with(commandArgs("c", "set-burst"), 7, value))
		}
		if reply := b.must("command", with(commandArgs("c", "set-burst"), 7, 5)...); reply[0] != "NONE" {
			t.Errorf("a burst without a limiter: %q", reply)
		}
		b.must("command", right...)
	})
}

// wrongLimits are no settings of a limiter.
func wrongLimits() []any {
	return []any{"1", "1:0:0:0", "x:0:0:0:0", "1:0:0:0:2", "1:0:0:2:0", "1000000001:0:0:0:0", "-1:0:0:0:0", "1:31622400000001:0:0:0", "1:0:1001:0:0",
		"1:0:0:0:0 ", "1:0:0:0:0:0"}
}

func wrongPieces() []any {
	return []any{
		"", ";", "x", "1:1:1:0", "1:1:1:0:1:1", "-1:1:1:5:1", "1:-1:1:5:1", "1:1:0:0:1", "1:1:-1:0:1", "1:1:1:-5:1", "1:1:1:0:0", "1:1:1:0:3",
		"1:1:1:0:8192", "1:2:1:0:1", "nan:nan:1:0:1", "1e3:1e3:1:0:1", "200000001:200000001:1:0:1", "1:1:1000001:0:1", "1:1:1:0:1;x",
		"1:1:1:0:1 ", "1:1:1:9007199254740994:1",
	}
}

// TestPiecesOfProfiles: the check lets everything pass that the compiler of profiles makes.
func TestPiecesOfProfiles(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		check := redis.NewScript(source(t, "check") + "return queue(ARGV[1]) and 1 or 0")
		rates := []string{"0", "0.000001", "1/1000000s", "999983/999979s", "0.5", "1", "320", "999", "33333.3", "1M", "100M"}
		accepts := func(p pacer.Profile) {
			t.Helper()
			pieces, err := p.Pieces()
			if err != nil {
				return // two rates that are too fine for one ramp
			}
			if ok, err := check.Run(t.Context(), b.client, nil, pacer.JoinPieces(pieces)).Int(); err != nil || ok != 1 {
				t.Errorf("%.200s: %d, %v", pacer.JoinPieces(pieces), ok, err)
			}
		}
		for _, x := range rates {
			from, err := pacer.ParseRate(x)
			if err != nil {
				t.Fatal(err)
			}
			accepts(pacer.Constant(from, 0))
			accepts(pacer.Constant(from, time.Microsecond))
			for _, y := range rates {
				to, err := pacer.ParseRate(y)
				if err != nil {
					t.Fatal(err)
				}
				accepts(pacer.Stages(from, pacer.Stage{Length: 5 * 365 * 24 * time.Hour, To: to}, pacer.Stage{Length: time.Millisecond, To: from}))
				if sine, err := pacer.Sine(from, to, time.Minute); err == nil {
					accepts(sine)
				}
			}
		}
		for _, text := range wrongPieces() {
			if ok, err := check.Run(t.Context(), b.client, nil, text).Int(); err != nil || ok != 0 {
				t.Errorf("%q: %d, %v", text, ok, err)
			}
		}
	})
}

func TestCreateRefuses(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		right := createArgs()
		for _, value := range append(notWhole(), 0, -1) {
			b.refuses("create", "lifetime", with(right, 4, value))
		}
		for _, value := range append(notWhole(), 2, -1) {
			b.refuses("create", "replace", with(right, 3, value))
		}
		for _, value := range plainNot() {
			b.refuses("create", "uid", with(right, 2, value))
		}
		for _, value := range wrongPieces() {
			b.refuses("create", "budget", with(right, 7, value))
		}
		for _, value := range append(wrongLimits(), "") {
			b.refuses("create", "budget", append(slices.Clone(right), "limit", value))
		}
		for i := 8; i < len(right); i += 2 {
			for _, value := range append(notWhole(), -2) {
				b.refuses("create", "budget", with(right, i+1, value))
			}
		}
		for _, i := range []int{17, 19, 21} { // horizon, ttl, qmax
			b.refuses("create", "budget", with(right, i, 0))
		}
		for n := 5; n < len(right); n++ {
			b.refuses("create", "budget", right[:n])
		}
		if n := len(b.dump()); n != 0 {
			t.Errorf("%d keys were written", n)
		}
	})
}

func TestSnapshotRefuses(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.must("create", createArgs()...)
		b.must("snapshot", snapshotArgs(1)...)
		right := snapshotArgs(2)
		for position, name := range map[int]string{5: "length", 6: "seq", 8: "from", 9: "next", 11: "page"} {
			for _, value := range append(notWhole(), -1) {
				b.refuses("snapshot", name, with(right, position, value))
			}
		}
		b.refuses("snapshot", "seq", with(right, 6, 0))
		b.refuses("snapshot", "length", with(right, 5, 0))
		b.refuses("snapshot", "page", with(right, 12, "12345"))
		b.refuses("snapshot", "page", right[:len(right)-1])
		for _, value := range []any{"", "w", "w/", "/i", "w/i/j", "w:seq/i", "w/i:seq", "w/i:gaps", "w x/i", "w/i\n"} {
			b.refuses("snapshot", "worker/incarnation", with(right, 2, value))
		}
		b.must("snapshot", right...)
		if n := b.client.XLen(t.Context(), b.keys["snapshots"]).Val(); n != 2 {
			t.Errorf("%d snapshots are stored", n)
		}
	})
}

// TestSnapshotAfterALoss: what Redis has forgotten of a worker's points is noticed by the next call, which is written only if it begins where the
// series ends. So each point is added once. Gaps are what is missing between two snapshots that are there.
func TestSnapshotAfterALoss(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		// publish brings what is whole between from and next, which adds 200 to one counter.
		publish := func(seq, from, next int, interval string) string {
			args := []any{"uid", "w/inc1", "total" + strconv.Itoa(seq), interval, 1000, seq, "counts" + strconv.Itoa(seq), from, next, "open" + strconv.Itoa(next)}
			if next > from {
				args = append(args, ":1:7", increment(1, 200))
			}
			return strings.Join(b.must("snapshot", args...), " ")
		}
		for _, c := range []struct {
			when            string
			before          func()
			seq, from, next int
			interval        string
			reply           string
			total, record   string // what is there then
			sum             int
			gaps            string
		}{
			{when: "first", seq: 1, from: 0, next: 1, interval: "in", reply: "OK 1 1", total: "total1", record: "1 open1", sum: 200},
			{when: "next", seq: 2, from: 1, next: 2, interval: "in", reply: "OK 1 2", total: "total2", record: "2 open2", sum: 400},
			{when: "the same again", seq: 2, from: 1, next: 2, interval: "in", reply: "FROM 1 2", total: "total2", record: "2 open2", sum: 400},
			{when: "the same, corrected", seq: 2, from: 2, next: 2, interval: "in", reply: "OK 1 2", total: "total2", record: "2 open2", sum: 400},
			{when: "points alone", seq: 4, from: 2, next: 3, interval: "", reply: "OK 1 3", total: "total2", record: "3 open3", sum: 600},
			{when: "one is missing", seq: 4, from: 3, next: 4, interval: "in", reply: "OK 1 4", total: "total4", record: "4 open4", sum: 800, gaps: "1"},
			{when: "everything is forgotten", before: func() {
				b.client.FlushDB(t.Context())
				b.must("create", createArgs()...)
			}, seq: 5, from: 4, next: 5, interval: "in", reply: "FROM 0 0"},
			{when: "from the beginning", seq: 5, from: 0, next: 1, interval: "in", reply: "OK 0 1", total: "total5", record: "1 open1", sum: 200},
			{when: "late, from before", seq: 2, from: 1, next: 2, interval: "in", reply: "OK 0 2", total: "total5", record: "2 open2", sum: 400},
			{when: "the series alone is lost", before: func() { b.client.Del(t.Context(), b.keys["series"]) }, seq: 6, from: 2, next: 3, interval: "in", reply: "FROM 0 0", total: "total5"},
			{when: "and comes again", seq: 6, from: 0, next: 1, interval: "in", reply: "OK 0 1", total: "total6", record: "1 open1", sum: 200},
		} {
			if c.seq == 1 {
				b.must("create", createArgs()...)
				b.must("lease", leaseArgs("w", 1)...)
			}
			if c.before != nil {
				c.before()
			}
			reply := publish(c.seq, c.from, c.next, c.interval)
			series := b.client.HGetAll(t.Context(), b.keys["series"]).Val()
			totals := b.client.HGetAll(t.Context(), b.keys["totals"]).Val()
			sum := 0
			for i, digit := range []byte(series[":1:7"]) {
				sum += int(digit) << (8 * (i % 5))
			}
			if reply != c.reply || totals["w/inc1"] != c.total || totals["w/inc1:gaps"] != c.gaps || series["w/inc1"] != c.record || sum != c.sum {
				t.Errorf("%s: %s, totals %v, series %q; want %+v", c.when, reply, totals, series, c)
			}
			if want := strings.Replace(c.total, "total", "counts", 1); totals["w/inc1:counts"] != want {
				t.Errorf("%s: counts %q", c.when, totals["w/inc1:counts"])
			}
		}
	})
}

// TestPagesAdd: increments are added to counters that are there, with their carries, and to those that are not.
func TestPagesAdd(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.must("create", createArgs()...)
		rng := rand.New(rand.NewPCG(1, 2))
		want := map[int]int64{}
		for seq := range 60 {
			var add []byte
			for counter := range 128 {
				n := rng.Int64N(1 << (1 + rng.IntN(33)))
				if rng.IntN(6) > 0 || counter < 100 == (seq%2 == 0) {
					continue
				}
				number := binary.LittleEndian.AppendUint64(nil, uint64(n))
				add = append(append(add, byte(counter)), number[:5]...)
				want[counter] += n
			}
			b.must("snapshot", with(with(snapshotArgs(seq + 1)[:12], 11, ":4:9:3"), 12, string(add))...)
		}
		page := b.client.HGet(t.Context(), b.keys["series"], ":4:9:3").Val()
		for counter, n := range want {
			var got int64
			for i, digit := range []byte(page[counter*5 : counter*5+5]) {
				got += int64(digit) << (8 * i)
			}
			if got != n {
				t.Errorf("counter %d is %d, want %d", counter, got, n)
			}
		}
	})
}

func TestLeaveRefuses(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.must("create", createArgs()...)
		b.must("lease", leaseArgs("w", 1)...)
		for _, value := range []any{"", "active", "left ", "lost", "stopped 1:2:3"} {
			b.refuses("leave", "state", with(leaveArgs("w"), 4, value))
		}
		for _, value := range plainNot() {
			b.refuses("leave", "worker or incarnation", with(leaveArgs("w"), 2, value))
			b.refuses("leave", "worker or incarnation", with(leaveArgs("w"), 3, value))
		}
		if reply := b.must("leave", leaveArgs("w")...); reply[0] != "OK" {
			t.Errorf("%q", reply)
		}
	})
}
