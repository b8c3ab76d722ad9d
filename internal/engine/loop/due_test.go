//go:build linux

package loop

import (
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets"
)

// BenchmarkDue sends at a rate, as a shard does, and reports how late requests leave: Sent − Due, in µs.
//
//	go test ./internal/engine/loop -run '^$' -bench Due -benchtime 5s
func BenchmarkDue(b *testing.B) {
	for _, rate := range []struct {
		name string
		gap  int64
	}{{"1k", 1e6}, {"10k", 1e5}} {
		b.Run(rate.name, func(b *testing.B) {
			c := open(b, targets.Spec{URL: startTiny(b, 1).url}, targets.Local{}, 64)
			defer c.Close()
			late := make([]int64, 0, b.N)
			done := func(r targets.Result) { late = append(late, r.Sent-r.Due) }
			due := c.Now() + int64(10*time.Millisecond)
			for sent := 0; len(late) < b.N; {
				for now := c.Now(); sent < b.N && due <= now && c.Send(now, due, targets.Call{Number: uint64(sent)}); sent++ {
					due += rate.gap
				}
				until := due
				if sent == b.N {
					until += 1e9
				}
				if err := c.Poll(until, done); err != nil {
					b.Fatal(err)
				}
			}
			slices.Sort(late)
			for name, q := range map[string]float64{"p50-µs": 0.5, "p99-µs": 0.99} {
				b.ReportMetric(float64(late[int(q*float64(len(late)-1))])/1e3, name)
			}
		})
	}
}
