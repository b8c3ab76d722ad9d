package e2e

import (
	"context"
	"fmt"
	"math"
	"net"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/engine/loop"
	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/member"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// TestHeapStaysFlat (I12): the live heap of a worker does not grow with time. The worker is in this process, so that
// its heap can be measured. Another worker, the target and Redis are processes of their own. Before the first
// measurement the rate changes and Redis stalls for a while, so that all code has run once. Both measurements are at
// the same rate.
func TestHeapStaysFlat(t *testing.T) {
	nightly(t)
	const first, last = 5 * time.Minute, 30 * time.Minute // of the acceptance run; daily runs count requests
	b := newBed(t)
	target := b.target()
	spec := spec.Spec{Target: targets.Spec{URL: target}, QPS: pacer.PerSecond(500), MinWorkers: 1, MaxLag: time.Second, CatchUp: time.Second}
	client, err := link.Connect(t.Context(), b.redis.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	r, _, err := run.Create(t.Context(), client, "heap", spec, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- inProcess(ctx, r, b.redis.URL()) }()
	b.worker("heap", "--url", target, "--qps", "500", "--id", "other", "--catch-up", "1s")

	began := time.Now()
	rest := func(until time.Duration, sent int64) { // until all is as it was at the measurement before
		if acceptance() {
			time.Sleep(time.Until(began.Add(until)))
			return
		}
		await.True(t, "more requests", func() bool { return b.soFar("heap").Audit.Sent >= sent })
	}
	rest(first/2, 500)
	b.loadctl("set-rate", "heap", "800")
	b.redis.Pause()
	stalled := time.Now()
	await.True(t, "two seconds without Redis", func() bool { return time.Since(stalled) > 2*time.Second })
	b.redis.Resume()
	rest(first, 2500)
	early := b.atRest("heap")
	const looks = 5
	for i := 1; i <= looks; i++ {
		rest(first+(last-first)*time.Duration(i)/looks, 2500+800*int64(i))
		late := b.atRest("heap")
		t.Logf("live heap first: %d kB, after %v: %d kB", early/1024, time.Since(began).Round(time.Second), late/1024)
		if late > early*105/100 || late < early*95/100 {
			t.Errorf("the live heap went from %d to %d bytes", early, late)
		}
	}
	leave()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// atRest returns the live heap. Unless the machine is quiet, the run is paused meanwhile: what a busy machine has not
// sent yet takes memory too.
func (b *bed) atRest(name string) uint64 {
	b.t.Helper()
	if acceptance() {
		return liveHeap()
	}
	b.loadctl("pause", name)
	await.True(b.t, "the last answers", func() bool {
		a := b.report(name).Audit
		return a.Held == 0 && a.InFlight == 0
	})
	defer b.loadctl("resume", name)
	return liveHeap()
}

// liveHeap returns the least that remains of the heap after some collections. Memory that is used now and then, such as
// buffers in pools, is not live.
func liveHeap() uint64 {
	least := uint64(math.MaxUint64)
	for range 3 {
		for range 3 {
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least = min(least, m.HeapAlloc)
		time.Sleep(50 * time.Millisecond)
	}
	return least
}

// inProcess is loadworker run, with its engine for plain HTTP.
func inProcess(ctx context.Context, r *run.Run, redisURL string) error {
	link, err := link.New(ctx, redisURL, "heap")
	if err != nil {
		return err
	}
	defer link.Close()
	wire, err := wire.New(r.Spec.Target, targets.Local{})
	if err != nil {
		return err
	}
	w := member.New(ctx, r, link, "here", false)
	w.Shards = 2
	w.NewClient = func(int) (worker.Client, error) { return loop.New(w.Clock, wire, 50) }
	_, err = w.Run(ctx)
	return err
}

// target starts loadctl target, which counts in a process of its own, and returns its URL.
func (b *bed) target() string {
	b.t.Helper()
	address := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(b.t))
	cmd := exec.Command(filepath.Join(binaries, "loadctl"), "target", "--listen", address, "--for", "45m")
	begin(b.t, cmd, nil)
	await.True(b.t, "the target", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return "http://" + address + "/"
}
