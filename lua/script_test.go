package lua_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer"
)

// bench calls the scripts with any arguments. Its keys have names that no run has: scripts must not rely on names.
type bench struct {
	*testing.T
	client rdb.Client
	keys   map[string]string
}

// each runs a test on a real and on an embedded server.
func each(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) { test(t, newBench(t, client)) })
}

func newBench(t *testing.T, client rdb.Client) *bench {
	b := &bench{T: t, client: client, keys: map[string]string{}}
	for i, part := range []string{"budget", "workers", "due", "byload", "unowned", "laws", "log", "events", "spec", "totals", "snapshots", "series"} {
		b.keys[part] = fmt.Sprintf("{tag}%d", 100-i)
	}
	return b
}

// names returns the keys of a script in the order of its header.
func (b *bench) names(script string) []string {
	script, _, _ = strings.Cut(script, "/")
	parts := "budget workers due byload unowned laws log events"
	switch script {
	case "order":
		parts += " snapshots"
	case "make":
		parts += " spec totals snapshots series"
	case "grant":
		return []string{b.keys["budget"], "{tag}limiter"}
	case "samples":
		return []string{b.keys["budget"], "{tag}samples"}
	case "snapshot":
		parts = "budget totals snapshots series spec workers due events laws byload unowned log"
	}
	var names []string
	for part := range strings.FieldsSeq(parts) {
		names = append(names, b.keys[part])
	}
	if script == "make" { // this run does not have these keys
		names = append(names, "{tag}data", "{tag}stopped", "{tag}limiter")
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

func snapshotArgs(seq int) []any {
	return []any{"uid", "w/inc1", "total", "interval", 1000, seq, "counts", 0, 0, "points", ":1:0", increment(0, 1), ":1:0:31", increment(7, 1)}
}

// increment returns the encoded addition of n < 256 to a counter of a page.
func increment(counter, n byte) string { return string([]byte{counter, n, 0, 0, 0, 0}) }

// with returns args with one of them replaced. Positions count from 1, as in Lua.
func with(args []any, position int, value any) []any {
	args = slices.Clone(args)
	args[position-1] = value
	return args
}

func (b *bench) dump() map[string]string {
	b.Helper()
	return redistest.Contents(b, b.client)
}

// refuses checks that a call changes nothing, and returns an error of one line that names the script and the argument.
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

// TestOnACluster: a server of a cluster refuses a script that uses keys of another hash slot.
func TestOnACluster(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.Start(t, "--cluster-enabled", "yes").Client())
	if err := b.client.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the cluster to begin", func() bool {
		info, err := b.client.ClusterInfo(t.Context()).Result()
		return err == nil && strings.Contains(info, "cluster_state:ok")
	})
	b.scenario()
}

// notWhole returns values that are not integers. The scripts' tonumber alone would accept some of them.
func notWhole() []any {
	return []any{"", "x", "nan", "-nan", "inf", "-inf", "1e300", "1e3", "0x10", "1.5", " 1", "1 ", "1\n", "--1", "+1", "١",
		strings.Repeat("9", 400), "9007199254740994", "-9007199254740994"}
}

func plainNot() []any {
	return []any{"", " ", "a b", "a/b", "a,b", "a;b", "a:b", "a|b", "-", "-a", ".a", "a\n", "ä", strings.Repeat("x", 65)}
}

// wrongLimits returns invalid settings of a limiter.
func wrongLimits() []any {
	return []any{"1", "1:0:0:0", "x:0:0:0:0", "1:0:0:0:2", "1:0:0:2:0", "1000000001:0:0:0:0", "-1:0:0:0:0", "1:31622400000001:0:0:0", "1:0:1001:0:0",
		"1:0:0:0:0 ", "1:0:0:0:0:0"}
}

func wrongPieces() []any {
	return []any{
		"", ";", "x", "1:1:1", "1:1:1:0:1", "-1:1:1:5", "1:-1:1:5", "1:1:0:0", "1:1:-1:0", "1:1:1:-5",
		"1:2:1:0", "nan:nan:1:0", "1e3:1e3:1:0", "200000001:200000001:1:0", "1:1:1000001:0", "1:1:1:0;x",
		"1:1:1:0 ", "1:1:1:9007199254740994",
	}
}

// TestPiecesOfProfiles: the check accepts everything that the compiler of profiles makes.
func TestPiecesOfProfiles(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		check := redis.NewScript(source(t, "check") + "return queue(ARGV[1]) and 1 or 0")
		rates := []string{"0", "0.000001", "1/1000000s", "999983/999979s", "0.5", "1", "320", "999", "33333.3", "1M", "100M"}
		accepts := func(p pacer.Profile) {
			t.Helper()
			pieces, err := p.Pieces()
			if err != nil {
				return // the two rates are too fine for one ramp
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

func TestSnapshotRefuses(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.must("make", makeArgs()...)
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

// TestSnapshotAfterALoss: the next call notices that Redis has forgotten a worker's points. It is written only if it
// begins where the series ends, so each point is added once. Gaps are missing snapshots between two that are there.
func TestSnapshotAfterALoss(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		// publish sends the complete points between from and next, which add 200 to one counter.
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
			total, record   string // what is stored afterwards
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
				b.must("make", makeArgs()...)
			}, seq: 5, from: 4, next: 5, interval: "in", reply: "FROM 0 0"},
			{when: "from the beginning", seq: 5, from: 0, next: 1, interval: "in", reply: "OK 0 1", total: "total5", record: "1 open1", sum: 200},
			{when: "late, from before", seq: 2, from: 1, next: 2, interval: "in", reply: "OK 0 2", total: "total5", record: "2 open2", sum: 400},
			{when: "the series alone is lost", before: func() { b.client.Del(t.Context(), b.keys["series"]) }, seq: 6, from: 2, next: 3, interval: "in", reply: "FROM 0 0", total: "total5"},
			{when: "and comes again", seq: 6, from: 0, next: 1, interval: "in", reply: "OK 0 1", total: "total6", record: "1 open1", sum: 200},
		} {
			if c.seq == 1 {
				b.must("make", makeArgs()...)
				b.renew(renewArgs("w", 1, "")...)
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

// TestPagesAdd: increments are added to counters, with carries, and create missing counters.
func TestPagesAdd(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.must("make", makeArgs()...)
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
