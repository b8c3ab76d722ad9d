package model

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/loadctl/loadctl/pacer"
)

// A clone answers as the original does, and what happens to one does not touch the other.
func TestClone(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	ps, err := pacer.Constant(pacer.PerSecond(900), 0).Pieces()
	if err != nil {
		t.Fatal(err)
	}
	b := New(Options{Pieces: ps, Min: 2, PermitFor: 3_000_000})
	b.Server = "one"
	now, seq := int64(1_700_000_000_000_000), int64(0)
	step := func(bs ...*Budget) (replies []pacer.Reply) {
		now += rng.Int64N(50_000)
		seq++
		a := pacer.Ask{Worker: fmt.Sprint("w", rng.IntN(3)), Incarnation: "i", Seq: seq, Ack: now - 1, Until: now + 400_000, Weight: 1, RTTHi: 2000}
		cut := rng.IntN(20) == 0
		for _, x := range bs {
			if cut {
				x.Command(now, fmt.Sprint(seq), "set-rate", ps)
			}
			replies = append(replies, x.Lease(now, a))
		}
		return replies
	}
	for range 200 {
		step(b)
	}
	c, d := b.Clone(), b.Clone()
	if !reflect.DeepEqual(b, c) {
		t.Fatal("the clone differs")
	}
	for range 200 {
		r := step(b, c)
		if !reflect.DeepEqual(r[0], r[1]) {
			t.Fatalf("original %+v\nclone %+v", r[0], r[1])
		}
	}
	if !reflect.DeepEqual(b, c) {
		t.Error("after the same calls the clone differs")
	}
	if reflect.DeepEqual(b, d) {
		t.Error("a clone changed with its original")
	}
	now, seq = now-1, 100_000
	e := d.Clone()
	step(d)
	if reflect.DeepEqual(d, e) {
		t.Error("a clone changed with its original")
	}
}
