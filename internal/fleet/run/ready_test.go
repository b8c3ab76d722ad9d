package run

import (
	"maps"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/spec"
)

// TestReady: Ready refuses a Redis at which a worker's calls would fail, and writes nothing.
func TestReady(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(10), Options{})
		m := b.member(r, "w")
		for _, look := range []func(){func() {}, func() { m.renew() }} {
			look()
			before := b.dump()
			if err := r.Ready(t.Context()); err != nil {
				t.Error(err)
			}
			if !maps.Equal(before, b.dump()) {
				t.Error("it has changed something")
			}
		}
		for _, key := range []string{r.Keys.Workers, r.Keys.Due, r.Keys.ByLoad, r.Keys.Unowned, r.Keys.Laws, r.Keys.Log, r.Keys.Totals, r.Keys.Snapshots, r.Keys.Events, r.Keys.Series} {
			b.client.Del(t.Context(), key)
			if err := b.client.Set(t.Context(), key, "hunter2", 0).Err(); err != nil {
				t.Fatal(err)
			}
			before := b.dump()
			b.wants(r.Ready(t.Context()), spec.ErrBroken, key+" is a string and not a ", "loadctl rm x")
			_, _, err := Create(t.Context(), b.client, "x", constant(10), Options{})
			b.wants(err, spec.ErrBroken, key+" is a string and not a ")
			if !maps.Equal(before, b.dump()) {
				t.Errorf("%s: an attempt has changed something", key)
			}
			b.client.Del(t.Context(), key)
		}
	})
}
