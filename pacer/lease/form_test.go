package lease

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/circle"
)

func sampleLaws() []Law {
	plan := &Plan{ID: 17, Pieces: []pacer.Piece{{R0: 10, R1: 20, Den: 1, Dur: 1_000_000}, {R0: 5, R1: 5, Den: 2}}}
	a := Law{Law: pacer.Law{ID: 17, T0: 1_700_000_000_000_000, R0: 10, R1: 20, Den: 1, Dur: 1_000_000, K: 15}, Plan: plan, Piece: 1, End: pacer.Endless, ClockEpoch: 17}
	b := Law{Law: pacer.Law{ID: 18, T0: 1_700_000_001_000_000, C: 7, Den: 1}, Base: 15, Phase: Paused, Prev: 17, Cut: 15, Plan: plan, Piece: 2,
		Left: pacer.Piece{R0: 5, R1: 5, Den: 2}, End: pacer.Endless, Stop: 3, ClockEpoch: 17}
	return []Law{a, b}
}

// sampleReply is a reply as a script would write it.
func sampleReply() []string {
	laws, plans := PackLaws(sampleLaws())
	head := string(pack(nil, 3, 17, 1_700_000_000_500_000, 1_700_000_010_500_000, 2, 500_000, 4)) + "OK|abc"
	list := Ranges{{Lo: 0, Hi: 100, From: Pos{17, 3}}, {Lo: 100, Hi: circle.Units}}
	return append([]string{head, list.pack(), string(pack(nil, 5, 9)), laws}, plans...)
}

func TestReply(t *testing.T) {
	r, err := ReadReply(sampleReply(), nil)
	want := Reply{Status: OK, Seq: 3, Epoch: "abc", ClockEpoch: 17, Now: 1_700_000_000_500_000, P: 1_700_000_010_500_000, Members: 2, Wait: 500_000, Version: 4,
		List: Ranges{{Lo: 0, Hi: 100, From: Pos{17, 3}}, {Lo: 100, Hi: circle.Units}}, Give: Ranges{{Lo: 5, Hi: 9}}, Laws: sampleLaws()}
	if err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("%+v, %v; want %+v", r, err, want)
	}
	// A reply need not repeat a plan that is known.
	if r, err := ReadReply(sampleReply()[:4], (*Laws)(nil).With(sampleLaws()...)); err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("%+v, %v; want %+v", r, err, want)
	}
	if r, err := ReadReply(sampleReply()[:1], nil); err != nil || r.Laws != nil || r.Seq != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestWrongReplies: each reply is refused with one line.
func TestWrongReplies(t *testing.T) {
	with := func(i int, text string) []string { r := sampleReply(); r[i] = text; return r }
	laws := func(change func(l *Law)) []string {
		all := sampleLaws()
		change(&all[1])
		text, _ := PackLaws(all)
		return with(3, text)
	}
	head := sampleReply()[0]
	for name, texts := range map[string][]string{
		"nothing":             nil,
		"short":               {head[:55]},
		"two texts":           sampleReply()[:2],
		"no status":           with(0, head[:56]+"|abc"),
		"another status":      with(0, head[:56]+"GREAT|abc"),
		"no epoch":            with(0, head[:56]+"OK"),
		"a long epoch":        with(0, head+strings.Repeat("x", 64)),
		"a negative number":   with(0, string(pack(nil, -1))+head[8:]),
		"half a range":        with(1, sampleReply()[1][:63]),
		"ranges out of order": with(1, Ranges{{Lo: 5, Hi: 9}, {Lo: 8, Hi: 10}}.pack()),
		"an empty range":      with(2, string(pack(nil, 5, 5))),
		"off the circle":      with(2, string(pack(nil, 5, circle.Units+1))),
		"before the circle":   with(2, string(pack(nil, -5, 1))),
		"a slot before all":   with(1, Ranges{{Lo: 5, Hi: 9, From: Pos{-1, 0}}}.pack()),
		"half a law":          with(3, sampleReply()[3][:200]),
		"no plan":             sampleReply()[:4],
		"a plan of nothing":   with(4, "17:0;"),
		"a plan without end":  with(4, "17;1:1:1:0"),
		"a plan's number":     with(4, "x:0;1:1:1:0"),
		"laws out of order":   laws(func(l *Law) { l.ID = 17 }),
		"a law's denominator": laws(func(l *Law) { l.Den = 0 }),
		"a law's phase":       laws(func(l *Law) { l.Phase = 4 }),
		"a law's base":        laws(func(l *Law) { l.Base = -1 }),
		"a law before itself": laws(func(l *Law) { l.Prev = 18 }),
		"a law's piece":       laws(func(l *Law) { l.Piece = 3 }),
		"a law's rest":        laws(func(l *Law) { l.Left.R1 = 9 }),
	} {
		r, err := ReadReply(texts, nil)
		if err == nil || strings.Contains(err.Error(), "\n") || !reflect.DeepEqual(r, Reply{}) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// message is a message as a script would write it.
func message(laws []Law) string {
	text, plans := PackLaws(laws)
	return string(pack(nil, int64(len(laws)))) + text + strings.Join(plans, "\n")
}

func TestMessage(t *testing.T) {
	if got, err := ReadMessage(message(sampleLaws()), nil); err != nil || !reflect.DeepEqual(got, sampleLaws()) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := ReadMessage("", nil); err != nil || got != nil {
		t.Errorf("%+v, %v", got, err)
	}
	whole := message(sampleLaws())
	for i := 1; i < len(whole)-1; i++ {
		if got, err := ReadMessage(whole[:i], nil); err == nil && len(got) == 2 && len(got[0].Plan.Pieces) == 2 {
			t.Errorf("of %d bytes: %+v", i, got)
		}
	}
}

func TestPlan(t *testing.T) {
	for _, p := range []*Plan{sampleLaws()[0].Plan, {ID: 5, Loop: true, Pieces: []pacer.Piece{{R0: 1, R1: 1, Den: 1, Dur: 5}}},
		{ID: 5, Factor: 640_000, Top: 800_000, Of: 3, Pieces: []pacer.Piece{{R0: 1, R1: 1, Den: 1}}}, {Factor: Unscaled, Top: Unscaled, Pieces: []pacer.Piece{{R0: 1, R1: 1, Den: 1}}}} {
		if got, err := ParsePlan(p.String()); err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%v: %v, %v", p, got, err)
		}
	}
	for _, numbers := range []string{":", ":1", ":1:1", ":0:1:0", ":2:1:0", ":1:1000001:0", ":1:1:-1", ":1:1:6", ":1:1:x", ":1:1:0x", ":01:1:0"} {
		if got, err := ParsePlan("5:0" + numbers + ";1:1:1:0"); err == nil {
			t.Errorf("%s is %+v", numbers, got)
		}
	}
}

func TestCallArgs(t *testing.T) {
	plain := Call{Worker: "w", Incarnation: "i", Seq: 4, Epoch: "e", Weight: 2, Known: 17, Version: 3}
	want := []string{"w", "i", "e", string(pack(nil, 4, 2, 17, 3, 0, -1, 0))}
	if got := plain.Args(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	plain.Claim, plain.Laws = &Claim{Held: Ranges{{Lo: 1, Hi: 2}}, P: 9, ClockEpoch: 8}, sampleLaws()
	if got := plain.Args(); len(got) != 8 || len(got[4]) != 0 || len(got[5]) != 32 || len(got[6]) != 2*lawBytes || got[7] != sampleLaws()[0].Plan.String() {
		t.Errorf("%q", got)
	}
}

// FuzzReply: any bytes are refused, or can be worked with.
func FuzzReply(f *testing.F) {
	r := sampleReply()
	f.Add(r[0], r[1], r[2], r[3], r[4])
	f.Add(r[0], "", "", "", "")
	f.Fuzz(func(t *testing.T, head, list, give, laws, plan string) {
		r, err := ReadReply([]string{head, list, give, laws, plan}, nil)
		if err != nil {
			return
		}
		h := NewHolder("w", "1", 1)
		c := h.Call()
		r.Seq = c.Seq
		h.Receive(1_700_000_000_000_000, r)
		view := h.View()
		slots := NewSlots(0, 2)
		slots.Take(&view)
		var x pacer.Slot
		for range 8 {
			if !slots.Next(&x) {
				break
			}
			slots.Pop()
		}
	})
}

// FuzzMessage: any bytes are refused, or can be written again.
func FuzzMessage(f *testing.F) {
	f.Add(message(sampleLaws()))
	f.Fuzz(func(t *testing.T, text string) {
		laws, err := ReadMessage(text, nil)
		if err != nil {
			return
		}
		again, err := ReadMessage(message(laws), nil)
		if err != nil || !reflect.DeepEqual(laws, again) {
			t.Errorf("%+v\n%+v, %v", laws, again, err)
		}
	})
}
