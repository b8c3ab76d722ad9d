package lease

import (
	"slices"
	"testing"

	"github.com/loadctl/loadctl/pacer/circle"
)

// TestAgreedFarAhead: shards may have looked further ahead than a release usually leads, because their clock was corrected
// since. Then the end moves once, behind what they have looked at. Without that, the worker chose a new end again and
// again, and used a whole core.
func TestAgreedFarAhead(t *testing.T) {
	const now, ahead = 2_000_000, 3_000_000
	h := NewHolder("w", "1", 1)
	seq := h.Call().Seq
	h.Receive(now, Reply{Status: OK, Seq: seq, Epoch: "e", ClockEpoch: 1, Now: now, P: 60_000_000, Version: 2, Laws: []Law{constant(1, 1_000_000, 0, 0, 0)},
		List: Ranges{{Lo: 0, Hi: circle.Units, From: Pos{1, 0}}}, Give: Ranges{{Lo: 0, Hi: circle.Units / 2}}})
	if h.Agreed(h.View().Version, now, now+ahead) {
		t.Fatal("it releases what its shards have looked at")
	}
	v := h.View()
	if !h.Agreed(v.Version, now, now+ahead) || h.View().Version != v.Version {
		t.Errorf("the end moved again: %+v, then %+v", v.Ending, h.View().Ending)
	}
	if end := v.Ending[0].End; end.Less(v.Laws.Pos(now + ahead)) {
		t.Errorf("the end %v is within what the shards have looked at", end)
	}
}

// TestLapse: a worker was asked for ranges, and its lease ended before its shards agreed to the end. The server freed the
// ranges, and gave one of them to this worker again. Then the worker holds that one, and its claim has nothing else.
func TestLapse(t *testing.T) {
	const now = 2_000_000
	h := NewHolder("w", "1", 1)
	receive := func(r Reply) {
		r.Seq, r.Epoch, r.ClockEpoch, r.Now, r.P = h.Call().Seq, "e", 1, now, now+500_000
		h.Receive(now, r)
	}
	old, again := Ranges{{Lo: 0, Hi: 100, From: Pos{1, 0}}, {Lo: 200, Hi: 300, From: Pos{1, 0}}}, Ranges{{Lo: 200, Hi: 300, From: Pos{1, 60}}}
	receive(Reply{Status: OK, Version: 2, Laws: []Law{constant(1, 1_000_000, 0, 0, 0)}, List: old, Give: old.Bare()})
	if len(h.View().Ending) != 2 || len(h.View().Held) != 0 {
		t.Fatalf("asked for all, it holds %v and gives up %v", h.View().Held, h.View().Ending)
	}
	receive(Reply{Status: OK, Version: 3, List: again})
	if v := h.View(); len(v.Ending) != 0 || !slices.Equal(v.Held, again) {
		t.Errorf("given one again, it holds %v and gives up %v", v.Held, v.Ending)
	}
	receive(Reply{Status: MustClaim})
	if c := h.Call().Claim; c == nil || !slices.Equal(c.Held, again) {
		t.Errorf("it claims %+v, want %v", c, again)
	}
}
