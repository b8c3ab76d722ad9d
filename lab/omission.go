//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"time"
)

// omission compares the percentiles that tools report of a stalling endpoint with those that its users would see. A
// user comes each ms. All users that come during a stall of S wait for its end. So in a run of D the quantile q is
//
//	S − (1 − q)·D, if that is positive
func omission(ctx context.Context, b *bench, s *section) error {
	length, _ := b.lasting(10*time.Second, 0)
	stall := endpointOptions{stallAt: length * 3 / 10, stallFor: length / 5}
	exact := func(q float64) time.Duration {
		return max(0, stall.stallFor-time.Duration(math.Round((1-q)*float64(length))))
	}
	l := load{connections: 64, rate: 1_000, length: length}
	ours := product{flags: []string{"--max-lag", "5s", "--catch-up", "5s"}}.tool(b)
	defaults := product{variant: "defaults"}.tool(b)
	all := b.shooters(s, append(withFortio(b, "-nocatchup"), ours, defaults), l, stall, 0)
	if t, ok := b.find("k6"); ok {
		t.name = "k6, 5,000 users"
		many := l
		many.connections = 5_000
		all = append(all, b.shooters(s, []tool{t}, many, stall, 0)...)
	}
	rounds, err := contend(ctx, b, s, b.rounds, all)
	if err != nil {
		return err
	}
	p90, p99 := func(s shot) float64 { return s.p90.Seconds() * 1e3 }, func(s shot) float64 { return s.p99.Seconds() * 1e3 }
	asked := float64(l.rate) * length.Seconds()
	rows := [][]string{{"exact", fmt.Sprintf("%.0f", exact(0.9).Seconds()*1e3), fmt.Sprintf("%.0f", exact(0.99).Seconds()*1e3), thousands(asked)}}
	for _, r := range rounds {
		rows = append(rows, []string{
			r.name, spanned(of(r.turns, p90), "%.1f"), spanned(of(r.turns, p99), "%.1f"),
			spannedThousands(of(r.turns, func(s shot) float64 { return float64(len(s.times)) })),
		})
	}
	s.table([]string{"", "reported p90, ms", "reported p99, ms", "requests that arrived"}, rows)
	for _, g := range []struct {
		q      float64
		figure func(shot) float64
	}{{0.9, p90}, {0.99, p99}} {
		off := 100 * (of(rounds.take(ours.name), g.figure).median()/(exact(g.q).Seconds()*1e3) - 1)
		s.atMost(fmt.Sprintf("%s, reported p%.0f, %% off", ours.name, 100*g.q), math.Abs(off), 2, "%.2f")
	}
	return nil
}
