package model

import (
	"reflect"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// TestAwayForLong: a worker is cut off for longer than its lease, while the rate is changed several times. Then it
// learns where its law ended. So it counts what it sent beyond.
func TestAwayForLong(t *testing.T) {
	const start = 1_700_000_000_000_000
	pieces, _ := pacer.Constant(pacer.PerSecond(100), 0).Pieces()
	o := Options{Pieces: pieces, Min: 2, Hold: 10_000_000}
	s := newScripts(t, redistest.Start(t).Client(), "x")
	s.lose()
	s.make(start, o, "server", nil)
	r := New(o, "server")
	now := int64(start)
	one, two := lease.NewHolder("one", "1", 1), lease.NewHolder("two", "1", 1)
	renew := func(h *lease.Holder) {
		for again := true; again; {
			c := h.Call()
			want := r.Renew(now, c)
			got := s.Renew(now, c, h.View().Laws)
			if !reflect.DeepEqual(ids(got.Laws), ids(want.Laws)) {
				t.Fatalf("the script sends laws %v, the model %v", ids(got.Laws), ids(want.Laws))
			}
			again = h.Receive(now, got)
		}
	}
	both := func() {
		renew(one)
		renew(two)
		now += 500_000
	}
	for range 4 {
		both()
	}
	slots, view := lease.NewSlots(0, 1), two.View()
	slots.Take(&view)
	went := view.Laws.Newest().ID
	for range 40 { // 20 s
		kind := map[int64]string{4: "pause", 8: "resume", 12: "stop"}[(now-start)/500_000-4]
		if kind != "" {
			order := Order{ID: kind, Kind: kind}
			if a, b := r.Order(now, order), s.Order(now, order); a != b || a.Status != "OK" {
				t.Fatalf("%s: %+v by the model, %+v by the script", kind, a, b)
			}
		}
		renew(one)
		now += 500_000
	}
	for x := (pacer.Slot{}); slots.Next(&x); { // it sent all that was due before its lease ended
		slots.Pop()
	}
	renew(two)
	after := two.View()
	slots.Take(&after)
	if !after.Laws.Recalled(lease.Pos{Law: went, K: 1000}) {
		t.Errorf("slot 1000 of law %d is not recalled by %v", went, ids(after.Laws.All()))
	}
	if n := slots.Beyond(); n < 300 || n > 500 { // half of 100 a second, for some 8 s
		t.Errorf("%d slots were sent beyond the end of their law", n)
	}
}

func ids(laws []lease.Law) (out []int64) {
	for _, l := range laws {
		out = append(out, l.ID)
	}
	return out
}
