package results

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/report/samples"
)

// TestBrokenResults: the run goes on with damaged results, and only commands that read them return an error.
func TestBrokenResults(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", secretSpec(), run.Options{})
		read := map[string]func() error{
			r.Keys.Events: func() error { _, err := r.Events(t.Context(), 5); return err },
			r.Keys.Totals: func() error { _, err := Report(t.Context(), r); return err },
			r.Keys.Series: func() error { _, err := Report(t.Context(), r); return err },
		}
		for key, err := range read {
			if err := b.client.Set(t.Context(), key, "hunter2", 0).Err(); err != nil {
				t.Fatal(err)
			}
			b.wants(err(), spec.ErrBroken, "run x", "loadctl rm x")
			b.client.Del(t.Context(), key)
			if err := err(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestBrokenSamples: a report has all counts and the samples that can be read, and a note on the others. It stays complete.
func TestBrokenSamples(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", secretSpec(), run.Options{})
		kept := samples.Set{Samples: []samples.Sample{{Ordinal: 1, Worker: "b"}}}
		if err := NewJournal(r, "b", "i").PublishSamples(t.Context(), kept, 1, 1); err != nil {
			t.Fatal(err)
		}
		hset := func(field, text string) func() error {
			return func() error { return b.client.HSet(t.Context(), r.Keys.Samples, field, text).Err() }
		}
		for i, c := range []struct {
			harm func() error
			note string // its begin
			left int
		}{
			{hset("stray", "hunter2"), "", 1},
			{hset("c/\x1b[2J", "hunter2"), "samples of c/ [2J cannot be read: decode samples: ", 1},
			{hset("a/i", ""), "samples of a/i cannot be read: decode samples: EOF; nor can those of 1 more", 1},
			{func() error { return b.client.Set(t.Context(), r.Keys.Samples, "x", 0).Err() }, "samples of the run cannot be read: ", 0},
		} {
			if err := c.harm(); err != nil {
				t.Fatal(err)
			}
			rep, err := Report(t.Context(), r)
			if err != nil || len(rep.Samples) != c.left {
				t.Errorf("case %d: %d samples, %v", i, len(rep.Samples), err)
			}
			if noted := slices.ContainsFunc(rep.Notes, func(n string) bool { return strings.HasPrefix(n, cmp.Or(c.note, "samples")) }); noted != (c.note != "") {
				t.Errorf("case %d: notes %q", i, rep.Notes)
			}
		}
	})
}

// TestBrokenParts: rm refuses a run that can be opened, because its members may be alive.
func TestBrokenParts(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		keys := run.KeysOf("x")
		for name, harm := range map[string]func() error{
			"workers: a string": func() error { return b.client.Set(t.Context(), keys.Workers, "x", 0).Err() },
			"workers: foreign":  func() error { return b.client.HSet(t.Context(), keys.Workers, "w", "x").Err() },
			"workers: long": func() error {
				return b.client.HSet(t.Context(), keys.Workers, "w", "a b "+strings.Repeat("x", 400)).Err()
			},
			"laws: foreign":     func() error { return b.client.HSet(t.Context(), keys.Laws, "1", "1:2:3").Err() },
			"log: foreign":      func() error { return b.client.RPush(t.Context(), keys.Log, "x").Err() },
			"loose: foreign":    func() error { return b.client.ZAdd(t.Context(), keys.Unowned, redis.Z{Score: 1, Member: "x"}).Err() },
			"due: a string":     func() error { return b.client.Set(t.Context(), keys.Due, "x", 0).Err() },
			"budget: the plan":  func() error { return b.client.HSet(t.Context(), keys.Budget, "plan/0", "0:0;1:2:3").Err() },
			"budget: the limit": func() error { return b.client.HSet(t.Context(), keys.Budget, "limit", "many").Err() },
			"budget: no plan":   func() error { return b.client.HDel(t.Context(), keys.Budget, "plan/0").Err() },
		} {
			t.Run(name, func(t *testing.T) {
				b := &bed{T: t, client: b.client}
				r, _ := b.create("x", secretSpec(), run.Options{})
				if err := harm(); err != nil {
					t.Fatal(err)
				}
				_, err := r.State(t.Context())
				b.wants(err, spec.ErrBroken, "run x")
				_, err = Report(t.Context(), r)
				b.wants(err, spec.ErrBroken, "run x")
				b.wants(run.Remove(t.Context(), b.client, "x", false), nil, "--force")
				if err := run.Remove(t.Context(), b.client, "x", true); err != nil {
					t.Error(err)
				}
			})
		}
	})
}
