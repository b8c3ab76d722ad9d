package events

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestParseGoal asserts which goals there are.
func TestParseGoal(t *testing.T) {
	for _, c := range []struct {
		text, metric string
		share        float64
		limit        time.Duration
		ofEvents     bool
	}{
		{"first_event<500ms", "first_event", 0, 500 * time.Millisecond, true},
		{"ttft<500ms", "first_event", 0, 500 * time.Millisecond, true},
		{"first_event_service < 1s", "first_event_service", 0, time.Second, true},
		{" event_gap : p(95) < 80ms ", "event_gap", 0.95, 80 * time.Millisecond, true},
		{"itl:p(99.9)<1m", "event_gap", 0.999, time.Minute, true},
		{"event_gap:p(100)<1ms", "event_gap", 1, time.Millisecond, true},
		{"event_gap:max<1ms", "event_gap", 1, time.Millisecond, true},
		{"event_gap:avg<1ms", "event_gap", 0, time.Millisecond, true},
		{"tpot<1.5ms", "per_token", 0, 1500 * time.Microsecond, true},
		{"per_token<20ms", "per_token", 0, 20 * time.Millisecond, true},
		{"stream<1h", "stream", 0, time.Hour, true},
		{"first_byte<1ns", "first_byte", 0, 1, false},
		{"latency<1s", "latency", 0, time.Second, false},
		{"service<1s", "service", 0, time.Second, false},
	} {
		g, err := ParseGoal(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if g.Text != c.text || g.Metric != c.metric || math.Abs(g.Share-c.share) > 1e-12 || g.Limit != int64(c.limit) || g.OfEvents() != c.ofEvents {
			t.Errorf("%q: %+v", c.text, g)
		}
	}
}

// TestParseGoalErrors asserts what is said of goals that are none.
func TestParseGoalErrors(t *testing.T) {
	const form, one, many, limit, percent = "write METRIC<TIME, such as first_event<500ms or event_gap:p(95)<80ms; there are first_event (ttft), first_event_service, " +
		"stream, per_token (tpot), latency, service, first_byte, and of event_gap (itl) p(N), max and avg",
		"an answer has one such time; leave the aggregate out",
		"an answer has many gaps; write event_gap:p(95), event_gap:max or event_gap:avg",
		"the limit is a time above 0 with its unit, such as 500ms",
		"a percentile is above 0 and at most 100"
	for text, want := range map[string]string{
		"":                       form,
		"first_event":            form,
		"first_event>1s":         form,
		"first_event<1s<2s x":    form,
		"last_event<1s":          form,
		"event_gap:min<1s":       form,
		"event_gap:p95<1s":       form,
		"first_event<":           form,
		"first_event<=1s":        form,
		"first_event<500":        limit,
		"first_event<-1s":        limit,
		"first_event<0s":         limit,
		"first_event:p(95)<1s":   one,
		"ttft:max<1s":            one,
		"latency:avg<1s":         one,
		"event_gap<1s":           many,
		"itl<1s":                 many,
		"event_gap:p(0)<1s":      percent,
		"event_gap:p(100.1)<1s":  percent,
		"event_gap:p(9.9.9)<1s":  percent,
		strings.Repeat("x", 100): form,
	} {
		_, err := ParseGoal(text)
		if full := `goal "` + text[:min(80, len(text))] + `": ` + want; err == nil || err.Error() != full {
			t.Errorf("%q: %v; want %s", text, err, full)
		}
	}
}

// TestMet asserts which answers meet a goal: those whose time is below the limit.
func TestMet(t *testing.T) {
	times := Times{Due: 100, Sent: 110, First: 150, Done: 400}
	// Events at 200, 210, 230 and 260: gaps of 10, 20 and 30.
	at := []int64{200, 210, 230, 260}
	for _, c := range []struct {
		goal string
		met  bool
	}{
		{"latency<301ns", true}, {"latency<300ns", false},
		{"service<291ns", true}, {"service<290ns", false},
		{"first_byte<41ns", true}, {"first_byte<40ns", false},
		{"first_event<101ns", true}, {"first_event<100ns", false},
		{"first_event_service<91ns", true}, {"first_event_service<90ns", false},
		{"stream<161ns", true}, {"stream<160ns", false},
		{"per_token<21ns", true}, {"per_token<20ns", false},
		{"event_gap:avg<21ns", true}, {"event_gap:avg<20ns", false},
		{"event_gap:max<31ns", true}, {"event_gap:max<30ns", false},
		{"event_gap:p(100)<31ns", true}, {"event_gap:p(100)<30ns", false},
		{"event_gap:p(66.6)<21ns", true}, {"event_gap:p(66.7)<21ns", false},
		{"event_gap:p(33.3)<11ns", true}, {"event_gap:p(33.4)<11ns", false},
		{"event_gap:p(0.1)<10ns", false},
	} {
		// The goal has neighbours, whose counts must not be taken for its own.
		ok := rules(t, Options{Preset: OpenAI, Goals: []string{"event_gap:max<1ns", c.goal, "event_gap:max<1h"}})
		var pieces []piece
		for _, at := range at {
			pieces = append(pieces, piece{`data: {"choices":[{"text":"a"}]}` + "\n\n", at})
		}
		var r Reader
		s := read(&r, ok, nil, pieces...)
		if g := ok.Goals()[1]; g.Met(times, &s.Events) != c.met {
			t.Errorf("%s: met is %t", c.goal, !c.met)
		}
	}
}

// TestMetWithout asserts what counts as met if an answer does not have what the goal is about.
func TestMetWithout(t *testing.T) {
	one := Events{First: 200, Last: 200, Count: 1}
	for _, c := range []struct {
		goal string
		t    Times
		e    *Events
		met  bool
	}{
		{"first_event<1h", Times{}, nil, false},
		{"stream<1h", Times{}, &Events{}, false},
		{"event_gap:max<1h", Times{}, &Events{}, false},
		{"per_token<1h", Times{}, nil, false},
		{"first_byte<1h", Times{Sent: 5}, &one, false},
		{"latency<1h", Times{}, nil, true},
		{"service<1h", Times{}, nil, true},
		{"event_gap:max<1ns", Times{}, &one, true},
		{"event_gap:avg<1ns", Times{}, &one, true},
		{"event_gap:p(95)<1ns", Times{}, &one, true},
		{"per_token<1ns", Times{}, &one, true},
	} {
		g, err := ParseGoal(c.goal)
		if err != nil {
			t.Fatal(err)
		}
		if g.Met(c.t, c.e) != c.met {
			t.Errorf("%s of %+v: met is %t", c.goal, c.e, !c.met)
		}
	}
}

// TestMetExactly asserts that a share such as 95 % of 20 gaps is 19 of them, whatever floating-point numbers make of it.
func TestMetExactly(t *testing.T) {
	for _, c := range []struct {
		percent      string
		gaps, enough int64
	}{
		{"95", 20, 19}, {"90", 10, 9}, {"99", 100, 99}, {"99.9", 1000, 999}, {"7", 100, 7}, {"55", 100, 55}, {"95", 21, 20}, {"50", 3, 2},
	} {
		g, err := ParseGoal("event_gap:p(" + c.percent + ")<1ms")
		if err != nil {
			t.Fatal(err)
		}
		for _, within := range []int64{c.enough - 1, c.enough} {
			e := Events{Count: c.gaps + 1, Within: [MaxGoals]int64{within}}
			if met := g.Met(Times{}, &e); met != (within == c.enough) {
				t.Errorf("p(%s) with %d of %d gaps: met is %t", c.percent, within, c.gaps, met)
			}
		}
	}
}
