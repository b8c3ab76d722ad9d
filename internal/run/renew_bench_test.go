package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/redistest"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// A fleet is the workers of a run by arcs, of which each calls when it is told to.
type fleet struct {
	testing.TB
	client redis.Scripter
	keys   []string
	renew  *redis.Script
	all    []*lease.Holder
}

// newFleet makes a run that begins when n members are there, and the members. It promises for a minute.
func newFleet(tb testing.TB, client *redis.Client, n int) *fleet {
	tb.Helper()
	f := &fleet{TB: tb, client: client, renew: lua.Renew()}
	for name := range strings.FieldsSeq("budget workers due rich loose laws log events spec totals snapshots series stopped") {
		f.keys = append(f.keys, "{load:bench}:"+name)
	}
	pieces, err := pacer.Constant(pacer.PerSecond(20_000), 0).Pieces()
	if err != nil {
		tb.Fatal(err)
	}
	plan := &lease.Plan{Pieces: pieces}
	args := []any{"{}", "uid", 0, 3_600_000, "me", plan.String(), 60_000_000, n, 0, 0, 0, ""}
	if err := lua.Make().Run(context.Background(), client, f.keys, args...).Err(); err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		f.all = append(f.all, lease.NewHolder(fmt.Sprint("w", i), "0123456789abcdef", 1))
	}
	for range 3 { // they join; it begins, and they hear of it; they have their pieces
		for i := range f.all {
			f.call(i)
		}
	}
	return f
}

// call makes the next call of a member.
func (f *fleet) call(i int) {
	f.Helper()
	h := f.all[i]
	args := []any{"uid", "{load:bench}:wake"}
	for _, a := range h.Call().Args() {
		args = append(args, a)
	}
	texts, err := f.renew.Run(context.Background(), f.client, f.keys[:8], args...).StringSlice()
	if err != nil {
		f.Fatal(err)
	}
	r, err := lease.ReadReply(texts, h.View().Laws)
	if err != nil {
		f.Fatal(err)
	}
	h.Heard(time.Now().UnixMicro(), r)
	h.Agreed(h.View().Version, r.Now, r.Now)
}

// BenchmarkRenew is one call of one of 100 members of a run by arcs, to be compared with BenchmarkLease.
func BenchmarkRenew(b *testing.B) {
	b.Run("redis", func(b *testing.B) {
		server := redistest.Start(b)
		f, i := newFleet(b, server.Client(), 100), 0
		measure(b, server, func() { f.call(i % 100); i++ })
	})
	b.Run("embedded", func(b *testing.B) {
		f, i := newFleet(b, redistest.Embedded(b), 100), 0
		for b.Loop() {
			f.call(i % 100)
			i++
		}
	})
}
