package lua_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// The arguments of correct calls. The schedule is 1000/s.
func makeArgs() []any {
	return []any{"{}", "uid", 0, 3_600_000, "me", "0:0;1000:1000:1:0", 10_000_000, 1, 0, 0, 0, 0, "", "", "", 0, 0, "", 0, ""}
}

func rangeLaws() []lease.Law {
	plan := &lease.Plan{ID: 17, Pieces: []pacer.Piece{{R0: 10, R1: 20, Den: 1, Dur: 1_000_000}}}
	l := lease.Law{Law: pacer.Law{ID: 17, T0: time.Now().UnixMicro(), R0: 10, R1: 20, Den: 1, Dur: 1_000_000, K: 15}, Plan: plan, Piece: 1, End: pacer.Endless, ClockEpoch: 17}
	return []lease.Law{l}
}

func renewArgs(worker string, seq int, epoch string) []any {
	return arguments(lease.Call{Worker: worker, Incarnation: "inc1", Seq: int64(seq), Epoch: epoch, Weight: 1})
}

func claimArgs(worker string, seq int) []any {
	return arguments(lease.Call{Worker: worker, Incarnation: "inc1", Seq: int64(seq), Epoch: "other", Weight: 1,
		Releases: lease.Ranges{{Lo: 1, Hi: 2}}, Claim: &lease.Claim{Held: lease.Ranges{{Lo: 5, Hi: 9}}, P: 1, ClockEpoch: 1}, Laws: rangeLaws()})
}

func arguments(c lease.Call) []any {
	args := []any{"uid", "channel"}
	for _, a := range c.Args() {
		args = append(args, a)
	}
	return args
}

func orderArgs(id, kind string) []any {
	return []any{"uid", "channel", id, kind, "me", "what", "500:500:1:0", 0}
}

// rightArgs are those to store a right.
func rightArgs() []any {
	return []any{"uid", "channel", "store", "me", "", "", "right", 1_000_000_000, pacer.Endless, time.Now().UnixMicro() + 60_000_000, 0, 1}
}

func removeArgs(worker string) []any { return []any{"uid", "channel", worker, "me"} }

// number6 returns the arguments of a renewal, with the number at a position, counted from 1, replaced.
func number6(args []any, position int, value int64) []any {
	numbers := []byte(args[5].(string))
	binary.LittleEndian.PutUint64(numbers[8*(position-1):], uint64(value))
	return with(args, 6, string(numbers))
}

// renew makes a renewal.
func (b *bench) renew(args ...any) lease.Reply {
	b.Helper()
	r, err := lease.ReadReply(b.must("renew", args...), nil)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// scenario plays the life of a run with every script. It returns the keys at the end.
func (b *bench) scenario() []string {
	b.Helper()
	b.must("make", makeArgs()...)
	epoch := b.renew(renewArgs("w", 1, "")...).Epoch
	if r := b.renew(renewArgs("w", 2, epoch)...); r.Status != lease.OK || r.List.Len() != 1<<24 || len(r.Laws) != 1 {
		b.Errorf("%+v", r)
	}
	b.renew(renewArgs("v", 1, "")...)
	b.must("snapshot", snapshotArgs(1)...)
	for i, kind := range []string{"set-rate", "pause", "resume", "touch"} {
		if reply := b.must("order", orderArgs(fmt.Sprint(i), kind)...); reply[0] != "OK" && kind != "touch" {
			b.Errorf("%s: %q", kind, reply)
		}
	}
	if reply := b.must("remove", removeArgs("w")...); reply[0] != "OK" {
		b.Errorf("remove: %q", reply)
	}
	if reply := b.must("order", orderArgs("x", "stop")...); reply[0] != "OK" {
		b.Errorf("stop: %q", reply)
	}
	return slices.Sorted(maps.Keys(b.dump()))
}

// TestOnlyTheGivenKeys: a run uses only the given keys, whatever their names, and all of them expire.
func TestOnlyTheGivenKeys(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		there := b.scenario()
		if want := slices.Sorted(maps.Values(b.keys)); !slices.Equal(there, want) {
			t.Errorf("keys %v, given were %v", there, want)
		}
		for _, key := range there {
			if ttl := b.client.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > time.Hour {
				t.Errorf("key %s lives for %v", key, ttl)
			}
		}
		var kinds []string
		for _, e := range b.client.XRange(t.Context(), b.keys["events"], "-", "+").Val() {
			kinds = append(kinds, fmt.Sprint(e.Values["kind"]))
		}
		if want := strings.Fields("create join start join set-rate pause resume removed stop"); !slices.Equal(kinds, want) {
			t.Errorf("events %v, want %v", kinds, want)
		}
	})
}

func TestNoState(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		none := func(script string, args []any) {
			t.Helper()
			reply := b.must(script, args...)
			if script == "renew" {
				r, err := lease.ReadReply(reply, nil)
				if err != nil || r.Status != lease.NoState {
					t.Errorf("%s: %+v, %v", script, r, err)
				}
			} else if reply[0] != "NOSTATE" {
				t.Errorf("%s: %q", script, reply)
			}
		}
		calls := map[string][]any{"renew": renewArgs("w", 1, ""), "order": orderArgs("c", "pause"), "remove": removeArgs("w"), "right": rightArgs()}
		for script, args := range calls {
			none(script, args)
		}
		if n := len(b.dump()); n != 0 {
			t.Errorf("%d keys were written", n)
		}
		b.must("make", makeArgs()...)
		before := b.dump()
		for script, args := range calls {
			none(script, with(args, 1, "another uid"))
		}
		if !maps.Equal(before, b.dump()) {
			t.Error("the state has changed")
		}
	})
}

// TestNotWhole: if a part of the budget or of a record is missing or damaged, a call is an error that changes
// nothing.
func TestNotWhole(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		field := func(key, name string, value any) func() error {
			return func() error { return b.client.HSet(t.Context(), b.keys[key], name, value).Err() }
		}
		none := func(name string) func() error {
			return func() error { return b.client.HDel(t.Context(), b.keys["budget"], name).Err() }
		}
		long := strings.Repeat("x", 400)
		for name, harm := range map[string]func() error{
			"no core": none("core"), "no last": none("last"), "no epoch": none("epoch"), "last, a word": field("budget", "last", "x"),
			"core, a word": field("budget", "core", "many"), "core, long": field("budget", "core", long),
			"a record, a word": field("workers", "w", "x"), "a record, long": field("workers", "w", long),
		} {
			b.client.FlushAll(t.Context())
			b.must("make", makeArgs()...)
			epoch := b.renew(renewArgs("w", 1, "")...).Epoch
			b.renew(renewArgs("w", 2, epoch)...)
			if err := harm(); err != nil {
				t.Fatal(err)
			}
			before := b.dump()
			for script, args := range map[string][]any{"renew": renewArgs("w", 3, epoch), "remove": removeArgs("w")} {
				if reply, err := b.call(script, args...); err == nil {
					t.Errorf("%s: %s: %q", name, script, reply)
				}
			}
			if !maps.Equal(before, b.dump()) {
				t.Errorf("%s: the state has changed", name)
			}
		}
	})
}

func TestRenewRefuses(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.must("make", makeArgs()...)
		epoch := b.renew(renewArgs("w", 1, "")...).Epoch
		right, claim := renewArgs("w", 2, epoch), claimArgs("w", 2)
		for position, name := range map[int]string{1: "seq", 2: "weight", 3: "known", 4: "version", 5: "leaving", 6: "p", 7: "clockEpoch"} {
			for _, value := range []int64{1<<53 + 2, -2, math.MaxInt64, math.MinInt64} {
				b.refuses("renew", name, number6(right, position, value))
				b.refuses("renew", name, number6(claim, position, value))
			}
		}
		b.refuses("renew", "seq", number6(right, 1, 0))
		b.refuses("renew", "weight", number6(right, 2, 0))
		b.refuses("renew", "weight", number6(right, 2, 1_000_001))
		b.refuses("renew", "leaving", number6(right, 5, 3))
		for _, text := range []string{"", "[1,0,0,1,0,0,0,0]", right[5].(string)[1:], right[5].(string) + "0"} {
			b.refuses("renew", "numbers", with(right, 6, text))
		}
		for _, value := range plainNot() {
			b.refuses("renew", "worker or incarnation", with(right, 3, value))
			b.refuses("renew", "worker or incarnation", with(right, 4, value))
			if value != "" {
				b.refuses("renew", "epoch", with(right, 5, value))
			}
		}
		b.refuses("renew", "worker or incarnation", right[:2])
		b.refuses("renew", "numbers", right[:5])
		for position, name := range map[int]string{7: "releases", 8: "claim"} {
			for _, ranges := range [][]int64{{5, 5, 0, 0}, {-1, 5, 0, 0}, {5, 1<<24 + 1, 0, 0}, {9, 5, 0, 0}, {5, 9, -1, 0}, {5, 9, 0, -1}, {5, 9, 1<<53 + 2, 0}, {5, 9, 0, 1<<53 + 2}, {5, 9, 1}} {
				b.refuses("renew", name, with(claim, position, packed(ranges...)))
			}
		}
		b.refuses("renew", "claim", with(claim, 8, packed(5, 9, 0, 0, 8, 10, 0, 0)))
		b.refuses("renew", "claim", number6(claim, 6, -1)) // ranges, but no lease
		for _, value := range []any{"", "17:0;", "17:2;1:1:1:0", "x:0;1:1:1:0", "0:0;1:1:1:0", "17;1:1:1:0"} {
			b.refuses("renew", "plan", with(claim, 10, value))
		}
		for _, value := range wrongPieces() {
			b.refuses("renew", "plan", with(claim, 10, fmt.Sprint("17:0;", value)))
		}
		b.refuses("renew", "laws", claim[:9]) // without the plan
		b.refuses("renew", "laws", with(claim, 9, claim[8].(string)[8:]))
		b.refuses("renew", "laws", with(claim, 9, claim[8].(string)+claim[8].(string)))
		for i, values := range [][]int64{{0, -1}, {-1, 1 << 52 * 2}, {-1, 1_000_000}, {-1, 1 << 40}, {-1, 1 << 40}, {-1, 0, 1<<40 + 1}, {-1, 0}, {-1, 1<<53 - 1},
			{-1, 1<<53 + 2}, {-1, 4}, {-1, 17}, {-1, 1<<53 - 1}, {-1, 18}, {-1}, {-1, 1}, {-1, 1}, {-1, 1 << 40}, {-1, 5}, {-1}, {-1}, {-1, 18}, {-1, 1<<31 - 1}} {
			for _, value := range values {
				laws := []byte(claim[8].(string))
				binary.LittleEndian.PutUint64(laws[8*i:], uint64(value))
				b.refuses("renew", "laws", with(claim, 9, string(laws)))
			}
		}
		if r := b.renew(claim...); r.Status != lease.OK {
			t.Errorf("%+v", r)
		}
	})
}

// packed returns numbers as a script reads them.
func packed(numbers ...int64) string {
	var b []byte
	for _, x := range numbers {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return string(b)
}

func TestOrderRefuses(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.must("make", makeArgs()...)
		b.renew(renewArgs("w", 1, "")...)
		right := orderArgs("c", "set-rate")
		for _, value := range append(notWhole(), -1) {
			b.refuses("order", "law", with(right, 8, value))
		}
		for _, value := range plainNot() {
			b.refuses("order", "id", with(right, 3, value))
		}
		for _, value := range []any{"", "explode", "Stop", "set-rate "} {
			b.refuses("order", "kind", with(right, 4, value))
		}
		for _, value := range wrongPieces() {
			b.refuses("order", "pieces", with(right, 7, value))
		}
		for _, value := range append(notWhole(), -1, 0) {
			b.refuses("order", "silence", with(orderArgs("c", "deadman"), 7, value))
		}
		for _, value := range append(notWhole(), -1, 0, 1_000_000_001) {
			b.refuses("order", "burst", with(orderArgs("c", "set-burst"), 7, value))
			b.refuses("order", "part", with(orderArgs("c", "scale"), 7, value))
			b.refuses("order", "part", with(orderArgs("c", "cap"), 7, value))
		}
		b.must("order", right...)
	})
}

func TestRemoveRefuses(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.must("make", makeArgs()...)
		b.renew(renewArgs("w", 1, "")...)
		for _, value := range plainNot() {
			b.refuses("remove", "worker", with(removeArgs("w"), 3, value))
		}
		if reply := b.must("remove", removeArgs("v")...); reply[0] != "NOSTATE" {
			t.Errorf("%q", reply)
		}
	})
}

func TestRightRefuses(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.must("make", makeArgs()...)
		for position, name := range map[int]string{8: "rate", 9: "end", 10: "latest", 11: "frozen", 12: "sent"} {
			for _, value := range append(notWhole(), -1) {
				b.refuses("right", name, with(rightArgs(), position, value))
			}
		}
		b.refuses("right", "frozen", with(rightArgs(), 11, 2))
		b.refuses("right", "rights", with(rightArgs(), 7, ""))
		for _, kind := range []string{"", "write"} {
			b.refuses("right", "kind", with(rightArgs(), 3, kind))
		}
	})
}

// TestRights asserts that rights bound the laws, are replaced by who has read them, and are made again only on the server
// that was read.
func TestRights(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		asked := with(with(with(with(makeArgs(), 15, "right 1"), 16, 1_000_000_000), 17, pacer.Endless), 19, time.Now().UnixMicro()+60_000_000)
		none := b.must("right", "uid", "channel", "read", "me")
		if got := b.must("make", with(asked, 18, "another")...)[0]; got != "RESERVE" {
			t.Errorf("on another server than was read: %s", got)
		}
		if got := b.must("make", with(with(asked, 18, none[2]), 19, 1)...)[0]; got != "RESERVE" {
			t.Errorf("too late: %s", got)
		}
		if got := b.must("make", with(asked, 18, none[2])...)[0]; got != "CREATED" {
			t.Errorf("%s", got)
		}
		if got := b.must("order", with(orderArgs("a", "set-rate"), 7, "1001:1001:1:0")...)[0]; got != "RESERVE" {
			t.Errorf("a rate above the right: %s", got)
		}
		read := b.must("right", "uid", "channel", "read", "me")
		store := with(with(with(rightArgs(), 5, read[2]), 6, read[3]), 7, "right 2")
		for what, args := range map[string][]any{"another server": with(store, 5, "another"), "other rights": with(store, 6, "x"),
			"below what workers may go by": with(with(store, 3, "lower"), 8, 999_999_999), "too late": with(store, 10, 1)} {
			if got := b.must("right", args...); got[0] != "RETRY" || got[3] != "right 1" {
				t.Errorf("%s: %q", what, got)
			}
		}
		if got := b.must("right", with(store, 8, 2_000_000_000)...); got[0] != "OK" || got[3] != "right 2" || got[4] != "2000000000" {
			t.Errorf("%q", got)
		}
		if got := b.must("order", with(orderArgs("b", "set-rate"), 7, "1001:1001:1:0")...)[0]; got != "OK" {
			t.Errorf("a rate within the new right: %s", got)
		}
		frozen := with(with(with(store, 6, "right 2"), 7, "right 3"), 11, 1)
		if got := b.must("right", with(frozen, 8, 2_000_000_000)...); got[0] != "OK" || got[9] != "1" {
			t.Errorf("%q", got)
		}
		if got := b.must("order", with(orderArgs("c", "set-rate"), 7, "1:1:1:0")...)[0]; got != "FROZEN" {
			t.Errorf("in a freeze: %s", got)
		}
	})
}

func TestMakeRefuses(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		right := makeArgs()
		for position, name := range map[int]string{3: "replace", 4: "lifetime", 7: "hold", 8: "min", 9: "span", 10: "requests", 11: "deadman", 12: "seed", 16: "allow", 17: "end of the rights", 19: "latest"} {
			for _, value := range append(notWhole(), -1) {
				b.refuses("make", name, with(right, position, value))
			}
		}
		b.refuses("make", "lifetime", with(right, 4, 0))
		b.refuses("make", "hold", with(right, 7, 0))
		b.refuses("make", "seed", with(right, 12, int64(1)<<31-1))
		b.refuses("make", "replace", with(right, 3, 2))
		for _, value := range plainNot() {
			b.refuses("make", "uid", with(right, 2, value))
		}
		for _, value := range []any{"1:0;1:1:1:0", "0:2;1:1:1:0", "1:1:1:0", ""} {
			b.refuses("make", "plan", with(right, 6, value))
		}
		for _, value := range wrongPieces() {
			b.refuses("make", "plan", with(right, 6, fmt.Sprint("0:0;", value)))
		}
		for _, value := range wrongLimits() {
			b.refuses("make", "limit", with(right, 13, value))
		}
		text, plans := lease.PackLaws(rangeLaws())
		b.refuses("make", "laws", with(right, 20, text))
		b.refuses("make", "laws", append(with(right, 20, text[8:]), plans[0]))
		b.refuses("make", "plan", append(with(right, 20, text), "17:0;x"))
		for n, name := range map[int]string{6: "hold", 7: "min", 8: "span", 9: "requests", 10: "deadman", 11: "seed", 15: "allow", 16: "end of the rights", 18: "latest"} {
			b.refuses("make", name, right[:n])
		}
		if n := len(b.dump()); n != 0 {
			t.Errorf("%d keys were written", n)
		}
		if reply := b.must("make", append(with(right, 20, text), plans[0])...); reply[0] != "CREATED" {
			t.Errorf("%q", reply)
		}
		if reply := b.must("make", right...); reply[0] != "EXISTS" || reply[2] != "uid" {
			t.Errorf("%q", reply)
		}
		if reply := b.must("make", with(right, 3, 1)...); reply[0] != "EXISTS" {
			t.Errorf("a run that has not ended is replaced: %q", reply)
		}
		b.must("order", orderArgs("s", "stop")...)
		await.True(t, "the stop, after which the run is replaced", func() bool { // some 20 ms later
			return b.must("make", with(with(right, 3, 1), 2, "uid2")...)[0] == "CREATED"
		})
	})
}
