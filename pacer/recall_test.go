package pacer_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/pacer"
)

func TestRecalled(t *testing.T) {
	// Generation 10 was cut at its slot 50, which is due at 1 s; 11 was queued behind it; 12 took over, and was cut at its slot 7 at 3 s.
	rs := pacer.Recalls{{ID: 12, T0: 1_000_000, Prev: 10, Cut: 50}, {ID: 20, T0: 3_000_000, Prev: 12, Cut: 7}}
	const ms = 1_000_000
	for _, c := range []struct {
		what           string
		gen, slot, due int64
		want           bool
	}{
		{"ahead of the cut", 10, 49, 999 * ms, false},
		{"ahead of the cut, though the worker's clock puts it behind: the count decides", 10, 49, 1001 * ms, false},
		{"the cut slot", 10, 50, 1000 * ms, true},
		{"the cut slot, though the worker's clock puts it ahead", 10, 50, 999 * ms, true},
		{"far behind the cut", 10, 5000, 90_000 * ms, true},
		{"a generation queued behind the one that was cut", 11, 0, 1500 * ms, true},
		{"an older generation, due at the cut to the ns", 9, 3, 1000 * ms, true},
		{"an older generation, due a ns ahead of the cut", 9, 3, 1000*ms - 1, false},
		{"the generation that took over", 12, 6, 2999 * ms, false},
		{"the generation that took over, behind its own cut", 12, 7, 3000 * ms, true},
		{"the newest generation", 20, 0, 3000 * ms, false},
		{"a generation behind the newest cut", 21, 1 << 40, 1 << 60, false},
	} {
		if got := rs.Recalled(c.gen, c.slot, c.due); got != c.want {
			t.Errorf("%s: generation %d, slot %d, due %d: %v, want %v", c.what, c.gen, c.slot, c.due, got, c.want)
		}
	}
	if pacer.Recalls(nil).Recalled(1, 1, 1) {
		t.Error("a slot is recalled without any recall")
	}
}

// ids makes recalls with these ids.
func ids(ids ...int64) pacer.Recalls {
	var rs pacer.Recalls
	for _, id := range ids {
		rs = append(rs, pacer.Recall{ID: id, T0: id * 10, Prev: id - 1, Cut: id})
	}
	return rs
}

func TestMerge(t *testing.T) {
	var seventeen, last16 []int64
	for i := range int64(17) {
		seventeen = append(seventeen, i+1)
	}
	last16 = seventeen[1:]
	for _, c := range []struct {
		name             string
		have, more, want pacer.Recalls
	}{
		{"nothing", nil, nil, nil},
		{"the first", nil, ids(3), ids(3)},
		{"nothing new", ids(3), nil, ids(3)},
		{"the same again", ids(3, 5), ids(3, 5), ids(3, 5)},
		{"one more", ids(3), ids(3, 5), ids(3, 5)},
		{"a gap: the reply's list is short", ids(3), ids(7, 9), ids(3, 7, 9)},
		{"an old reply after a new one", ids(3, 5, 7), ids(3, 5), ids(3, 5, 7)},
		{"out of order", ids(3), ids(9, 7), ids(3, 9)},
		{"the same one twice", nil, ids(3, 3), ids(3)},
		{"more than 16", ids(seventeen[:9]...), ids(seventeen...), ids(last16...)},
		{"one more than 16", ids(seventeen[:16]...), ids(17), ids(last16...)},
	} {
		if got := c.have.Merge(c.more); (len(got) != 0 || len(c.want) != 0) && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestMergeLeavesWhatReadersHold(t *testing.T) {
	held := make(pacer.Recalls, 0, 32)
	held = append(held, ids(1, 2)...)
	a := held.Merge(ids(3))
	b := held.Merge(ids(4))
	if a[2].ID != 3 || b[2].ID != 4 || len(held) != 2 {
		t.Errorf("two merges share memory: %v and %v", a, b)
	}
	for id := int64(5); id < 50; id++ {
		before := fmt.Sprint(a)
		next := a.Merge(ids(id))
		if fmt.Sprint(a) != before {
			t.Fatalf("a merge changed %s to %v", before, a)
		}
		a = next
	}
}

func TestParseRecalls(t *testing.T) {
	for in, want := range map[string]pacer.Recalls{
		"":                       nil,
		"12:1000000:10:50":       {{ID: 12, T0: 1_000_000, Prev: 10, Cut: 50}},
		"1:2:3:4;5:6:7:8":        {{ID: 1, T0: 2, Prev: 3, Cut: 4}, {ID: 5, T0: 6, Prev: 7, Cut: 8}},
		"9:4503599627370496:1:0": {{ID: 9, T0: 1 << 52, Prev: 1}},
	} {
		if got, err := pacer.ParseRecalls(in); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseRecalls(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{
		";", ":", "1:2:3", "1:2:3:4:5", "1:2:3:4;", ";1:2:3:4", "1:2:3:x", "1:2:3:4.5", "1:2:3:4 ;5:6:7:8", "1,2,3,4", "-", "nil",
		"1:-2:3:4", "1:4503599627370497:3:4", "1:2:3:9223372036854775808", strings.Repeat("1:2:3;", 10_000),
	} {
		if got, err := pacer.ParseRecalls(in); err == nil || got != nil || len(err.Error()) > 300 {
			t.Errorf("ParseRecalls(%.40q) = %v, %v; want a short error", in, got, err)
		}
	}
}

func FuzzParseRecalls(f *testing.F) {
	for _, s := range []string{"", "12:1000000:10:50", "1:2:3:4;5:6:7:8", "1:9223372036854775807:3:4", "-1:0:-3:-4", ";;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rs, err := pacer.ParseRecalls(s)
		if err != nil {
			if rs != nil {
				t.Fatalf("%q: %v beside %v", s, rs, err)
			}
			return
		}
		var parts []string
		for _, r := range rs {
			parts = append(parts, fmt.Sprintf("%d:%d:%d:%d", r.ID, r.T0, r.Prev, r.Cut))
			one, gen, at := pacer.Recalls{r}, r.ID-1, r.T0*1000
			if gen < r.ID && gen != r.Prev && (!one.Recalled(gen, 0, at) || one.Recalled(gen, 0, at-1)) {
				t.Fatalf("%q: %+v does not recall from its time on", s, r)
			}
			if !one.Recalled(r.Prev, r.Cut, 0) || one.Recalled(r.Prev, min(r.Cut, r.Cut-1), at) && r.Cut > -1<<63 {
				t.Fatalf("%q: %+v does not recall from its slot on", s, r)
			}
		}
		if back, err := pacer.ParseRecalls(strings.Join(parts, ";")); err != nil || !reflect.DeepEqual(back, rs) {
			t.Fatalf("%q reads back as %v, %v", s, back, err)
		}
		merged := pacer.Recalls(nil).Merge(rs)
		if len(merged) > 16 || len(rs) > 0 && len(merged) == 0 {
			t.Fatalf("%q: %d recalls merge to %d", s, len(rs), len(merged))
		}
		for i := 1; i < len(merged); i++ {
			if merged[i].ID <= merged[i-1].ID {
				t.Fatalf("%q: merged out of order: %v", s, merged)
			}
		}
	})
}
