package lease

import (
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
	h.Heard(now, Reply{Status: OK, Seq: seq, Epoch: "e", Era: 1, Now: now, P: 60_000_000, Version: 2, Laws: []Law{constant(1, 1_000_000, 0, 0, 0)},
		List: Segs{{Lo: 0, Hi: circle.Units, From: Pos{1, 0}}}, Give: Segs{{Lo: 0, Hi: circle.Units / 2}}})
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
