package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// stored returns a spec with these members, as this program stores it.
func stored(members string) string { return fmt.Sprintf(`{"version":%d,`, Version) + members }

// TestDefaultsAreLeftOut: a spec without these fields is the same run as one with their defaults.
func TestDefaultsAreLeftOut(t *testing.T) {
	text := stored(`"target":{"url":"noop://"},"qps":"100","max_lag_ns":1000000000,"catch_up_ns":100000000,"min_workers":1}`)
	old, err := Parse("x", text)
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
	_, err := Parse("x", stored(`"target":{"url":"noop://"},"qps":"100","thresholds":["latency:p(99)<1s","jitter:max<1s"]}`))
	const says = `its state in Redis is of a newer version, with a threshold "jitter:max<1s", column 1: name a metric`
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), says) {
		t.Error(err)
	}
}

// TestUnknownMembers: a program that passed over a part of a spec would send another load than the run asks for.
func TestUnknownMembers(t *testing.T) {
	for _, text := range []string{
		stored(`"target":{"url":"noop://"},"qps":"100","max_lag_ns":1,"min_workers":1,"shape":"round"}`),
		stored(`"target":{"url":"noop://","shape":"round"},"qps":"100","max_lag_ns":1,"min_workers":1}`),
		stored(`"target":{"url":"","flows":[{"steps":[{"shape":1}]}]},"qps":"100"}`),
	} {
		if _, err := Parse("x", text); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), `with the unknown field "shape"; use a newer loadctl`) {
			t.Errorf("%s: %v", text, err)
		}
	}
	later, err := Parse("x", stored(`"target":{"url":"later://host"},"qps":"100","max_lag_ns":1,"catch_up_ns":1,"min_workers":1}`))
	if err != nil {
		t.Fatal(err) // who only reads needs no target
	}
	if err := later.CheckKnown("x"); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "later") {
		t.Error(err)
	}
}
