package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/limiters"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// brief is a measurement for tests: windows of 100 permits.
func brief(client rdb.Client) Measurement {
	return Measurement{Redis: redistest.URL(client), QPS: 500, Duration: 600 * time.Millisecond,
		Window: 200 * time.Millisecond, Burst: 250}
}

// TestMeasure: all limiters in all their uses send, on a real and on an embedded Redis, and leave only keys that expire
// soon. In acceptance they keep their promise: a measurement needs a machine that is in time.
func TestMeasure(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		m := brief(client)
		defer checkKeys(t, client)
		if !await.Acceptance() {
			for _, l := range limiters.Table() {
				for _, use := range uses(l) {
					m.begins(t, client, l, use)
				}
			}
			return
		}
		var lines []string
		seen, err := m.Run(t.Context(), limiters.Table(), func(s Seen) { lines = append(lines, s.Line()) })
		if err != nil {
			t.Fatal(err)
		}
		if len(seen) != 1+2+6*3 || len(lines) != len(seen) {
			t.Errorf("%d seen, %d noted", len(seen), len(lines))
		}
		var late time.Duration
		for _, s := range seen {
			late = max(late, s.Late) // it is 0 if the answers came too late to count
			t.Logf("%s; x %.1f of %.1f", s.Line(), s.Excess, s.Allowed)
			if !s.Within || s.Arrived == 0 || s.Calls == 0 || int(s.Arrived) != len(s.times) {
				t.Errorf("%+v", s)
			}
			checkRush(t, m, s)
		}
		if late <= 0 {
			t.Error("no answer took any time")
		}
	})
}

// begins starts a measurement without an end, and ends it when it has sent something.
func (m Measurement) begins(t *testing.T, client rdb.Client, l limiters.Limiter, use Use) {
	t.Helper()
	m.Duration = time.Hour
	granted := func() []string { return client.Keys(t.Context(), "limit:{limiters-*").Val() }
	before, over := granted(), errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := m.measure(ctx, l, use)
		done <- err
	}()
	await.True(t, fmt.Sprintf("requests of a %s through %s", use, l.Title()), func() bool {
		select {
		case err := <-done:
			t.Fatalf("%s, %s: %v", l.Title(), use, err)
		default:
		}
		if use == Rush { // it uses what it is granted
			return slices.ContainsFunc(granted(), func(key string) bool { return !slices.Contains(before, key) })
		}
		names, err := client.ZRevRange(t.Context(), "load:runs", 0, 0).Result()
		if err != nil || len(names) == 0 {
			return false
		}
		r, err := run.Open(t.Context(), client, names[0])
		if err != nil {
			return false // it is being made
		}
		rep, err := results.Report(t.Context(), r)
		return err == nil && rep.Audit.Sent > 0
	})
	cancel(over)
	if err := <-done; !errors.Is(err, over) {
		t.Errorf("%s, %s: %v", l.Title(), use, err)
	}
}

// checkKeys checks what a measurement leaves in Redis.
func checkKeys(t *testing.T, client rdb.Client) {
	t.Helper()
	for key := range redistest.Contents(t, client) {
		const endless = -1 // it may also be gone by now
		if !await.Acceptance() && !strings.HasPrefix(key, "limit:") {
			continue // a slow server may not remove a run in time: it expires later
		}
		if ttl := client.PTTL(t.Context(), key).Val(); ttl == endless || ttl > time.Minute || !strings.HasPrefix(key, "limit:{limiters-") {
			t.Errorf("leaves %s for %v", key, ttl)
		}
	}
}

// checkRush: a rush shows what the limiter's row in the table says. A caller takes all permits in one call, so the
// speed of the machine does not matter, as long as they arrive within some time.
func checkRush(t *testing.T, m Measurement, s Seen) {
	t.Helper()
	if s.Use != Rush {
		return
	}
	together := map[string]int64{
		"gcra": m.Burst, "token-bucket": m.Burst, "leaky-bucket": 1,
		"sliding-log": m.count(), "sliding-list": m.count(), "sliding-window": m.count(),
		"fixed-window": m.count(), // twice as many only where the machine is in time for the border
	}[s.Limiter]
	if most := float64(together) - 1; s.Excess < most*0.75-float64(m.QPS)*s.Late.Seconds() {
		t.Errorf("%s: a rush brings at most %.1f beyond the rate, want nearly %.0f", s.Title(), s.Excess, most)
	}
}

// TestBeyond: a limiter that promises too little is detected.
func TestBeyond(t *testing.T) {
	t.Parallel()
	m := brief(redistest.Start(t).Client())
	m.QPS, m.Window = 5000, 200*time.Millisecond // 2,000 at a border: more than a slow machine explains
	liar, err := limiters.Named("fixed-window")
	if err != nil {
		t.Fatal(err)
	}
	liar[0].Terms = [3]float64{0, 0, 1}
	await.True(t, "a measurement that detects it", func() bool { // a machine that stands still for a moment explains more
		s, err := m.measure(t.Context(), liar[0], Rush)
		if err != nil {
			t.Fatal(err)
		}
		if s.Within != (s.Excess <= s.Allowed) {
			t.Fatalf("%s; x %.1f of %.1f, but within is %t", s.Line(), s.Excess, s.Allowed, s.Within)
		}
		return !s.Within
	})
}

// TestEnds: when its context ends, a measurement ends in each use, with the cause, and without incomplete results.
func TestEnds(t *testing.T) {
	t.Parallel()
	client := redistest.Embedded(t)
	over := errors.New("over")
	for _, use := range []Use{Run, Rush} {
		chosen, err := limiters.Named("token-bucket")
		if err != nil {
			t.Fatal(err)
		}
		m := brief(client)
		m.Duration = time.Hour
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := m.measure(ctx, chosen[0], use)
			done <- err
		}()
		await.True(t, fmt.Sprintf("the beginning of a %s", use), func() bool { return len(redistest.Contents(t, client)) > 0 })
		cancel(over)
		if err := <-done; !errors.Is(err, over) {
			t.Errorf("%s: %v", use, err)
		}
		client.FlushAll(t.Context())
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	if seen, err := brief(client).Run(ended, limiters.Table(), nil); !errors.Is(err, over) || len(seen) != 0 {
		t.Errorf("%d seen, %v", len(seen), err)
	}
}

// TestLost: if Redis is lost during the measurement of a run, the measurement does not wait for the end of that run.
func TestLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	chosen, err := limiters.Named("token-bucket")
	if err != nil {
		t.Fatal(err)
	}
	m := brief(server.Client())
	m.Duration = time.Hour
	done := make(chan error, 1)
	go func() {
		_, err := m.measure(t.Context(), chosen[0], Run)
		done <- err
	}()
	client := server.Client()
	await.True(t, "a snapshot of a worker", func() bool { return len(client.Keys(t.Context(), "*:totals").Val()) > 0 })
	server.Kill()
	if err := <-done; !errors.Is(err, errSlow) {
		t.Errorf("%v", err)
	}
}

// TestAway: without Redis the error names the limiter that was to be measured.
func TestAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	m := brief(server.Client())
	server.Kill()
	if _, err := m.Run(t.Context(), limiters.Table(), nil); err == nil || !strings.HasPrefix(err.Error(), "measure gcra, run: reach Redis at ") {
		t.Errorf("%v", err)
	}
}
