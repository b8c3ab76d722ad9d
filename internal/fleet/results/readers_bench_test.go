package results

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	built "github.com/loadctl/loadctl/internal/proof/commands"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
)

// BenchmarkReaders measures the cost of reading a run of many workers with processes of loadctl. Each worker has
// published 1,024 s, as real ones do.
//
//	go test ./internal/fleet/results -run '^$' -bench BenchmarkReaders -benchtime 1x -timeout 1h
func BenchmarkReaders(b *testing.B) {
	for _, c := range []struct{ workers, rate int }{{1000, 20}, {10_000, 5}} {
		b.Run(fmt.Sprint(c.workers), func(b *testing.B) {
			server := redistest.Start(b)
			client := server.Client()
			began := time.Now()
			crowd(b, client, c.workers, c.rate, 1024)
			b.Logf("published in %v", time.Since(began))
			binaries, err := built.Build()
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(binaries.Remove)
			loadctl := filepath.Join(binaries.Dir, "loadctl")
			redisURL := "redis://" + server.Addr()
			for b.Loop() {
				for _, what := range []string{"report", "status"} {
					cmd := exec.Command(loadctl, what, "bench", "-o", "json", "--redis", redisURL)
					began := time.Now()
					if out, err := cmd.Output(); err != nil {
						b.Fatalf("%s: %v: %.300s", what, err, out)
					}
					b.ReportMetric(time.Since(began).Seconds(), what+"-s")
					b.ReportMetric(float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1024, what+"-MB")
				}
				b.ReportMetric(firstLine(b, loadctl, redisURL).Seconds(), "watch-s")
			}
			info, err := client.InfoMap(b.Context(), "memory").Result()
			if err != nil {
				b.Fatal(err)
			}
			var bytes float64
			_, _ = fmt.Sscan(info["Memory"]["used_memory"], &bytes)
			b.ReportMetric(bytes/1e6, "redis-MB")
		})
	}
}

// firstLine returns how long `loadctl watch` takes until it shows the state of the run.
func firstLine(b *testing.B, loadctl, redisURL string) time.Duration {
	b.Helper()
	cmd := exec.Command(loadctl, "watch", "bench", "--redis", redisURL)
	out, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "sent") {
		b.Log(lines.Text())
	}
	took := time.Since(began)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return took
}

// crowd makes a run in which this many workers have published this many seconds at this rate. There are twenty
// different workers; all others repeat them.
func crowd(b *testing.B, client rdb.Client, workers, rate int, seconds int64) {
	b.Helper()
	ctx := context.Background()
	spec := spec.Spec{Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(int64(workers * rate)), MaxLag: time.Second, CatchUp: time.Second, MinWorkers: 1}
	r, _, err := run.Create(ctx, client, "bench", spec, run.Options{})
	if err != nil {
		b.Fatal(err)
	}
	kinds := make([][]*message, 20)
	for i := range kinds {
		kinds[i] = messages(b, rand.New(rand.NewPCG(1, uint64(i))), rate, seconds)
	}
	leases := r.Leases(client)
	all := make(chan int)
	var publishing sync.WaitGroup
	for range 8 {
		publishing.Go(func() {
			for i := range all {
				id := fmt.Sprint("w", i)
				if _, err := leases.Renew(ctx, lease.NewHolder(id, "0123456789abcdef", 1).Call()); err != nil {
					b.Error(err)
				}
				j := NewJournal(r, id, "0123456789abcdef")
				for _, m := range kinds[i%len(kinds)] {
					if reply, err := j.send(ctx, m); err != nil || !reply.added {
						b.Errorf("%+v, %v", reply, err)
					}
				}
			}
		})
	}
	for i := range workers {
		all <- i
	}
	close(all)
	publishing.Wait()
}

// messages returns what one worker publishes.
func messages(b *testing.B, rng *rand.Rand, rate int, seconds int64) (all []*message) {
	b.Helper()
	total := record.NewSnapshot("w", "0123456789abcdef")
	series, recorder := new(record.Series), record.NewRecorder()
	var second int64
	for at := range seconds {
		in := record.NewSnapshot("w", "0123456789abcdef")
		in.Start, in.End = total.End, time.Now().UnixMicro()+(at-seconds)*1e6
		recorder.Reset()
		for range rate {
			lag, service := 20_000+rng.Int64N(80_000), int64(5e6*math.Exp(0.6*rng.NormFloat64()))
			recorder.Sent()
			recorder.Done(record.Finished{Sent: lag, Done: lag + service, Status: 200, BytesIn: 120, BytesOut: 60})
		}
		in.Record(recorder)
		series.Add(at*1_000_000, in)
		total.Merge(in)
		if at%16 < 15 && at < seconds-3 {
			continue
		}
		total.Seq++
		in.Seq = total.Seq
		m, err := newMessage(in, total, series, second, pacer.Rate{})
		if err != nil {
			b.Fatal(err)
		}
		second, all = m.next, append(all, m)
	}
	return all
}
