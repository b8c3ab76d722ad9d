package streams

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		text, of string
		want     Settings
	}{
		{"first=200ms,events=50,gap=20ms±5ms", Events, Settings{form: SSE, events: 50, first: 200 * ms, gap: 20 * ms, jitter: 5 * ms}},
		{" gap = 20ms +- 20ms , events = 0 ", Events, Settings{form: SSE, gap: 20 * ms, jitter: 20 * ms}},
		{"events=1000000,gap=1h,form=lines", Events, Settings{form: Lines, events: 1_000_000, gap: time.Hour}},
		{"events=3,stall=3:2s,form=chunks,stall=1:1h", Events, Settings{form: Chunks, events: 3, stalls: map[int]time.Duration{1: time.Hour, 3: 2 * time.Second}}},
		{"tokens=7,first=0", Tokens, Settings{form: SSE, events: 7}},
	} {
		s, err := Parse(c.text, c.of)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		w := c.want
		if s.of != c.of || s.form != w.form || s.events != w.events || s.first != w.first || s.gap != w.gap || s.jitter != w.jitter || !maps.Equal(s.stalls, w.stalls) {
			t.Errorf("%q: %+v, want %+v", c.text, s, w)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	many := "events=1000"
	for n := range MaxStalls + 1 {
		many += fmt.Sprintf(",stall=%d:1s", n+1)
	}
	for _, c := range []struct{ text, of, want string }{
		{"", Events, `there is no setting ""; use first, events, gap, stall, at-once and form`},
		{"events=5,", Events, `there is no setting ""; use first, events, gap, stall, at-once and form`},
		{"tokens=5", Events, `there is no setting "tokens"; use first, events, gap, stall, at-once and form`},
		{"events=5", Tokens, `there is no setting "events"; use first, tokens, gap, stall and at-once`},
		{"tokens=5,form=lines", Tokens, `there is no setting "form"; use first, tokens, gap, stall and at-once`},
		{"first=1s", Events, "there is no number of events; write events=50"},
		{"first=1s", Tokens, "there is no number of tokens; write tokens=50"},
		{"events=5,events=6", Events, "events is given twice; leave one out"},
		{"events=1000001", Events, "events=1000001: give a number from 0 to 1000000"},
		{"events=-1", Events, "events=-1: give a number from 0 to 1000000"},
		{"tokens=1.5", Tokens, "tokens=1.5: give a number from 0 to 1000000"},
		{"first", Events, "first=: give a duration such as 200ms, at most 1h"},
		{"first=61m", Events, "first=61m: give a duration such as 200ms, at most 1h"},
		{"gap=5", Events, "gap=5: give a duration such as 20ms or 20ms±5ms, at most 1h"},
		{"gap=2h", Events, "gap=2h: give a duration such as 20ms or 20ms±5ms, at most 1h"},
		{"gap=20ms±", Events, "gap=20ms±: give a duration such as 20ms or 20ms±5ms, at most 1h"},
		{"gap=20ms±1ms±1ms", Events, "gap=20ms±1ms±1ms: give a duration such as 20ms or 20ms±5ms, at most 1h"},
		{"gap=20ms+-21ms", Events, "gap=20ms+-21ms: give at most the gap itself after ±"},
		{"stall=2s", Events, "stall=2s: write N:LENGTH, such as 10:2s for 2s before event 10, at most 1h"},
		{"stall=0:2s", Events, "stall=0:2s: write N:LENGTH, such as 10:2s for 2s before event 10, at most 1h"},
		{"stall=1:2h", Events, "stall=1:2h: write N:LENGTH, such as 10:2s for 2s before event 10, at most 1h"},
		{"stall=1:2s,stall=1:3s", Events, "stall=1 is given twice; leave one out"},
		{"events=5,stall=6:2s", Events, "stall=6: there are only 5 events"},
		{many, Events, "stall=101:1s: give at most 100 stalls"},
		{"events=5,at-once=0", Events, "at-once=0: give a number from 1 to 100000"},
		{"tokens=5,at-once=many", Tokens, "at-once=many: give a number from 1 to 100000"},
		{"events=5,at-once=100001", Events, "at-once=100001: give a number from 1 to 100000"},
		{"events=5,form=xml", Events, "form=xml: use sse, lines or chunks"},
		{"events=5,form=", Events, "form=: use sse, lines or chunks"},
		{strings.Repeat("x", 1<<20), Events, `there is no setting "xxxxxxxxxxxxxxxxxxxx"; use first, events, gap, stall, at-once and form`},
	} {
		if _, err := Parse(c.text, c.of); err == nil || err.Error() != c.want {
			t.Errorf("%.60q: %v, want %s", c.text, err, c.want)
		}
	}
}

// TestPace asserts that each event is due within its bounds, and that jitter reaches both sides of the gap.
func TestPace(t *testing.T) {
	const ms = time.Millisecond
	s, err := Parse("first=100ms,events=1000,gap=20ms±5ms,stall=1:50ms,stall=10:2s", Events)
	if err != nil {
		t.Fatal(err)
	}
	p := pace{settings: s}
	last, least, most := p.next(), time.Hour, time.Duration(0)
	if last != 150*ms {
		t.Errorf("the first event is due after %v", last)
	}
	for n := 2; n <= 1000; n++ {
		due := p.next()
		gap := due - last - s.stalls[n]
		last, least, most = due, min(least, gap), max(most, gap)
	}
	if least < 15*ms || least > 16*ms || most < 24*ms || most > 25*ms {
		t.Errorf("gaps from %v to %v, want 15ms to 25ms", least, most)
	}
}
