package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// losing is a spec with settings for a lost Redis or controller.
func losing(loss string, permit, deadman time.Duration) Spec {
	s := constant(100)
	s.OnRedisLoss, s.PermitFor, s.Deadman = loss, permit, deadman
	return s
}

// TestLoss: the budget begins with the settings of the spec, in µs. Impossible settings are refused.
func TestLoss(t *testing.T) {
	b := newBed(t)
	for i, c := range []struct {
		loss            string
		permit, deadman time.Duration
		says            string // what is wrong with it
		hold            int64  // µs
	}{
		{"", 0, 0, "", 10_000_000},
		{LossPermit, 0, 0, "", 10_000_000},
		{LossPermit, time.Second, 3 * time.Second, "", 1_000_000},
		{"", 10 * time.Minute, 24 * time.Hour, "", 600_000_000},
		{LossStop, 0, 0, "", 2_000_000},
		{LossHold, 0, 30 * time.Second, "", 315_360_000_000_000},
		{"fire", 0, 0, `--on-redis-loss "fire": write one of permit, stop, hold`, 0},
		{LossStop, time.Second, 0, "--permit-for and --on-redis-loss stop: only permit has a length, leave --permit-for out", 0},
		{LossHold, time.Second, 0, "--permit-for and --on-redis-loss hold", 0},
		{LossPermit, time.Second - 1, 0, "--permit-for: give a time from 1s to 10m0s, such as 10s", 0},
		{"", 10*time.Minute + 1, 0, "--permit-for: give a time from", 0},
		{"", -1, 0, "--permit-for: give a time from", 0},
		{"", 0, 3*time.Second - 1, "--deadman: give a time from 3s to 24h0m0s, such as 30s; 0 means never", 0},
		{"", 0, 24*time.Hour + 1, "--deadman: give a time from", 0},
		{"", 0, -1, "--deadman: give a time from", 0},
	} {
		s := losing(c.loss, c.permit, c.deadman)
		if err := s.Validate(); c.says == "" && err != nil || c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says)) {
			t.Errorf("%q %v %v: %v, want %q", c.loss, c.permit, c.deadman, err, c.says)
		}
		if c.says != "" {
			continue
		}
		r, _ := b.create(fmt.Sprint("x", i), s, Options{})
		if core := b.core(r); core["hold"] != c.hold || core["deadman"] != c.deadman.Microseconds() {
			t.Errorf("%q %v %v: %v", c.loss, c.permit, c.deadman, core)
		}
	}
}

// TestDefaultsAreLeftOut: a spec without these fields is the same run as one with their defaults.
func TestDefaultsAreLeftOut(t *testing.T) {
	const text = `{"version":8,"target":{"url":"noop://"},"qps":"100","max_lag_ns":1000000000,"catch_up_ns":100000000,"min_workers":1}`
	old, err := parseSpec("x", text)
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Validate(); err != nil {
		t.Error(err)
	}
	for _, same := range []Spec{losing("", 0, 0), losing(LossPermit, DefaultPermitFor, 0)} {
		if diff := old.Diff(same); len(diff) > 0 {
			t.Errorf("%+v: %v", same, diff)
		}
	}
	if diff := old.Diff(losing(LossHold, 0, 0)); !slices.Equal(diff, []string{"on-redis-loss: permit there, hold here"}) {
		t.Error(diff)
	}
	again, err := json.Marshal(old)
	if strings.Contains(string(again), "threshold") || strings.Contains(string(again), "warmup") {
		t.Errorf("%s", again)
	}
	if err != nil || strings.Contains(string(again), "loss") || strings.Contains(string(again), "permit") || strings.Contains(string(again), "deadman") {
		t.Errorf("%s, %v", again, err)
	}
}

// TestNewerThresholds: a condition that this program cannot read is one of a newer program; no report may pass over it.
func TestNewerThresholds(t *testing.T) {
	_, err := parseSpec("x", `{"version":8,"target":{"url":"noop://"},"qps":"100","thresholds":["latency:p(99)<1s","jitter:max<1s"]}`)
	const says = `its state in Redis is of a newer version, with a threshold "jitter:max<1s", column 1: name a metric`
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), says) {
		t.Error(err)
	}
}
