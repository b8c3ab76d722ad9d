//go:build linux

package loop

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadctl/loadctl/targets"
)

// BenchmarkSaturation fires as fast as it can from core 0 at a server on core 1. Where wrk is installed it does the
// same right after, for comparison:
//
//	go test ./internal/engine/loop -run '^$' -bench Saturation -benchtime 3s
func BenchmarkSaturation(b *testing.B) {
	for _, connections := range []int{1, 64, 1024} {
		b.Run(strconv.Itoa(connections), func(b *testing.B) {
			s := startTiny(b, runtime.NumCPU()-1)
			c := open(b, targets.Spec{URL: s.url}, targets.Local{}, connections)
			defer c.Close()
			var all unix.CPUSet
			unix.SchedGetaffinity(0, &all)
			pin(0)
			defer runtime.UnlockOSThread()
			defer unix.SchedSetaffinity(0, &all)
			ended, failed := 0, 0
			done := func(r targets.Result) {
				ended++
				if r.Outcome.Class != "" {
					failed++
				}
			}
			b.ReportAllocs()
			began, busy := time.Now(), threadTime(b)
			for sent := 0; ended < b.N; {
				now := c.Now()
				for sent < b.N && c.Send(now, now, targets.Call{Number: uint64(sent)}) {
					sent++
				}
				if err := c.Poll(now+1e9, done); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "req/s")
			b.ReportMetric(float64(threadTime(b)-busy)/float64(b.N), "cpu-ns/req")
			if failed > 0 {
				b.Errorf("%d of %d failed", failed, b.N)
			}
			b.StopTimer()
			if b.N > 10_000 {
				wrk(b, s.url, connections)
			}
		})
	}
}

// threadTime returns the CPU time of the calling thread. Unlike the rate it is nearly the same on a busy machine.
func threadTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// wrk reports the rate of wrk on core 0.
func wrk(b *testing.B, url string, connections int) {
	if _, err := exec.LookPath("wrk"); err != nil {
		return
	}
	cmd := exec.Command("taskset", "-c", "0", "wrk", "-t1", "-c"+strconv.Itoa(connections), "-d3s", url)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	if found := regexp.MustCompile(`Requests/sec:\s*([\d.]+)`).FindSubmatch(out); found != nil {
		rate, _ := strconv.ParseFloat(string(found[1]), 64)
		b.ReportMetric(rate, "wrk-req/s")
	}
	if found := regexp.MustCompile(`(\d+) requests in`).FindSubmatch(out); found != nil {
		n, _ := strconv.ParseFloat(string(found[1]), 64)
		b.ReportMetric(float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())/n, "wrk-cpu-ns/req")
	}
}
