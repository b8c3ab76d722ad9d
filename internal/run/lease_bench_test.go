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

	"github.com/loadctl/loadctl/internal/redistest"
	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// BenchmarkLease is one lease call of one of 100 members, round trip included; floor is a script with the same keys and arguments, and a
// reply of that size, that does nothing. µs-redis is what Redis says the script took, µs-cpu the processor time of its process.
func BenchmarkLease(b *testing.B) {
	b.Run("redis", func(b *testing.B) {
		server := redistest.Start(b)
		call := leases(b, server.Client())
		measure(b, server, call)
	})
	b.Run("floor", func(b *testing.B) {
		server := redistest.Start(b)
		measure(b, server, floor(b, server.Client()))
	})
	b.Run("embedded", func(b *testing.B) {
		call := leases(b, redistest.Embedded(b))
		for b.Loop() {
			call()
		}
	})
}

// measure calls until the benchmark is over, and reports what that cost the server.
func measure(b *testing.B, server *redistest.Server, call func()) {
	b.Helper()
	for range 200 { // each member has joined and has its permit
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

// processor is the processor time that a process has used, in the kernel and outside of it, to a nanosecond.
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

// leases makes the calls of 100 members in turn.
func leases(b *testing.B, client *redis.Client) (call func()) {
	b.Helper()
	spec := run.Spec{Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(20_000), MaxLag: time.Second, CatchUp: time.Second, MinWorkers: 1}
	r, _, err := run.Create(context.Background(), client, "bench", spec, run.Options{})
	if err != nil {
		b.Fatal(err)
	}
	limiter := r.Limiter(client)
	var asks [100]pacer.Ask
	for i := range asks {
		asks[i] = pacer.Ask{Worker: fmt.Sprint("w", i), Incarnation: processID, Weight: 1, RTTHi: 1000}
	}
	i := 0
	return func() {
		ask := &asks[i%len(asks)]
		i++
		ask.Seq++
		ask.Until = time.Now().UnixMicro() + 1e9
		reply, err := limiter.Lease(context.Background(), *ask)
		if err != nil {
			b.Fatal(err)
		}
		ask.Ack, ask.PhiHeld, ask.Leased = reply.LeasedAt, reply.Permit.Phi(), ask.Leased+reply.Range.N
	}
}

const processID = "0123456789abcdef" // as long as a real one

// floor makes calls that cost what any script does.
func floor(b *testing.B, client *redis.Client) (call func()) {
	b.Helper()
	now := time.Now().UnixMicro()
	ask := pacer.Ask{Seq: 1000, Ack: now, Until: now, Weight: 1, RTTHi: 1000, PhiHeld: 200_000_000, Leased: 100_000, Known: now}
	script := redis.NewScript("return {'" + strings.Repeat(fmt.Sprint(now), 16) + "'}")
	keys := []string{"{load:bench}:budget", "{load:bench}:workers", "{load:bench}:seen", "{load:bench}:events", "{load:bench}:laws"}
	return func() {
		if _, err := script.Run(context.Background(), client, keys,
			processID, "w17", processID, ask.Numbers()).StringSlice(); err != nil {
			b.Fatal(err)
		}
	}
}
