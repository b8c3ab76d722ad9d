package run_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// A fleet is the workers of a run. Each calls when the benchmark says so.
type fleet struct {
	testing.TB
	client redis.Scripter
	keys   []string
	renew  *redis.Script
	all    []*lease.Holder
}

// newFleet makes a run that begins when n members are there, and its members. Leases last a minute.
func newFleet(tb testing.TB, client rdb.Client, n int) *fleet {
	tb.Helper()
	f := &fleet{TB: tb, client: client, renew: lua.Renew()}
	for name := range strings.FieldsSeq("budget workers due byload unowned laws log events spec totals snapshots series data stopped limiter") {
		f.keys = append(f.keys, "{load:bench}:"+name)
	}
	pieces, err := pacer.Constant(pacer.PerSecond(20_000), 0).Pieces()
	if err != nil {
		tb.Fatal(err)
	}
	plan := &lease.Plan{Pieces: pieces}
	args := []any{"{}", "uid", 0, 3_600_000, "me", plan.String(), 60_000_000, n, 0, 0, 0, 0, "", "", "", 0, 0, "", 0, ""}
	if err := lua.Make().Run(context.Background(), client, f.keys, args...).Err(); err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		f.all = append(f.all, lease.NewHolder(fmt.Sprint("w", i), processID, 1))
	}
	for range 3 { // they join; the run begins, and they receive its law; they get their ranges
		for i := range f.all {
			f.call(i)
		}
	}
	return f
}

// call makes the next call of a member.
func (f *fleet) call(i int) {
	f.Helper()
	h := f.all[i]
	args := []any{"uid", "{load:bench}:wake"}
	for _, a := range h.Call().Args() {
		args = append(args, a)
	}
	texts, err := f.renew.Run(context.Background(), f.client, f.keys[:8], args...).StringSlice()
	if err != nil {
		f.Fatal(err)
	}
	r, err := lease.ReadReply(texts, h.View().Laws)
	if err != nil {
		f.Fatal(err)
	}
	h.Receive(time.Now().UnixMicro(), r)
	h.Agreed(h.View().Version, r.Now, r.Now)
}

// BenchmarkRenew measures one call of one of 100 members, with the round trip. µs-redis is the script's time in
// Redis, µs-cpu the processor time of Redis.
func BenchmarkRenew(b *testing.B) {
	b.Run("redis", func(b *testing.B) {
		server := redistest.Start(b)
		f, i := newFleet(b, server.Client(), 100), 0
		measure(b, server, func() { f.call(i % 100); i++ })
	})
	b.Run("embedded", func(b *testing.B) {
		f, i := newFleet(b, redistest.Embedded(b), 100), 0
		for b.Loop() {
			f.call(i % 100)
			i++
		}
	})
}

// measure calls until the benchmark is over, and reports the cost for the server.
func measure(b *testing.B, server *redistest.Server, call func()) {
	b.Helper()
	for range 200 { // each member makes a call first
		call()
	}
	ctx := context.Background()
	if err := server.Client().ConfigResetStat(ctx).Err(); err != nil {
		b.Fatal(err)
	}
	before := processor(b, server.Pid())
	for b.Loop() {
		call()
	}
	b.ReportMetric(float64((processor(b, server.Pid())-before).Nanoseconds())/1e3/float64(b.N), "µs-cpu/op")
	info, err := server.Client().InfoMap(ctx, "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	var calls, usec, each float64
	if _, err := fmt.Sscanf(info["Commandstats"]["cmdstat_evalsha"], "calls=%g,usec=%g,usec_per_call=%g", &calls, &usec, &each); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(each, "µs-redis/op")
}

// processor returns the processor time that a process has used, in user and kernel mode, to the nanosecond.
func processor(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		b.Fatal(err)
	}
	ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(ns)
}

const processID = "0123456789abcdef" // as long as a real one

// BenchmarkRanges measures the calls that change something, by the number of present members. They are the beginning,
// further joins, an order, the first call after a failover, and each member's claim after it. µs-most is the longest
// call, if it took at least 5 ms.
func BenchmarkRanges(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			server := redistest.Start(b, "--enable-debug-command", "yes", "--slowlog-log-slower-than", "5000", "--slowlog-max-len", "10000")
			ctx, client := context.Background(), server.Client()
			cost := func(what string) {
				var most time.Duration
				for _, l := range client.SlowLogGet(ctx, -1).Val() {
					most = max(most, l.Duration)
				}
				if most > 0 {
					b.ReportMetric(float64(most.Microseconds()), "µs-most-"+what)
				}
				var calls, usec, each float64
				info := client.InfoMap(ctx, "commandstats").Val()
				if _, err := fmt.Sscanf(info["Commandstats"]["cmdstat_evalsha"], "calls=%g,usec=%g,usec_per_call=%g", &calls, &usec, &each); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(each, "µs-"+what)
				client.Do(ctx, "SLOWLOG", "RESET")
				client.ConfigResetStat(ctx)
			}
			for b.Loop() {
				client.FlushAll(ctx)
				f := newFleet(b, client, n)
				cost("begin")
				more := n / 10
				for i := range more {
					f.all = append(f.all, lease.NewHolder(fmt.Sprint("x", i), processID, 1))
					f.call(n + i)
				}
				lua.Order().Load(ctx, client)
				cost("join")
				if err := lua.Order().Run(ctx, client, f.keys[:9], "uid", "{load:bench}:wake", "1", "set-rate", "me", "what", "500:500:1:0", 0).Err(); err != nil {
					b.Fatal(err)
				}
				cost("order")
				for i := range f.all {
					f.call(i)
				}
				cost("receives")
				client.Do(ctx, "DEBUG", "CHANGE-REPL-ID")
				f.call(0)
				cost("failover")
				for i := range f.all {
					f.call(i)
				}
				cost("refused")
				for i := range f.all {
					f.call(i)
				}
				cost("claim")
				for i := range f.all {
					f.call(i)
				}
				cost("after")
				for i := range more {
					f.all[i].Leave()
					f.call(i)
				}
				cost("leave")
			}
		})
	}
}
