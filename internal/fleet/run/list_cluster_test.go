package run

import (
	"fmt"
	"slices"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// apart returns n names of runs whose master is not the one with the list.
func apart(t *testing.T, c *redistest.Cluster, n int) (names []string) {
	t.Helper()
	for len(names) < n {
		if name := NewID(); c.Owner(t, KeysOf(name).Budget) != c.Owner(t, index) {
			names = append(names, name)
		}
	}
	return names
}

// listed returns the names of all runs, with the phase of each.
func listed(t *testing.T, client rdb.Client) string {
	t.Helper()
	entries, err := List(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		if (e.Err != nil) != (e.Phase == "unreachable") {
			t.Errorf("%+v", e)
		}
		all = append(all, e.Run+" "+e.Phase)
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}

// back restarts a master that was killed, and waits until the client reaches it.
func back(t *testing.T, s *redistest.Server, client rdb.Client) {
	t.Helper()
	s.Restart()
	await.True(t, "the master to serve its hash slots", func() bool { return client.ZCard(t.Context(), index).Err() == nil })
}

// TestListWithoutAPart: runs on an unreachable master are in the list, as unreachable. The others are read.
func TestListWithoutAPart(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	client, list := connected(t, c.URL()), c.Owner(t, index)
	dead := c.Masters[(slices.Index(c.Masters, list)+1)%3]
	var want []string
	for s, name := range spread(t, c) {
		if _, _, err := Create(t.Context(), client, name, constant(1), Options{}); err != nil {
			t.Fatal(err)
		}
		want = append(want, name+map[bool]string{true: " unreachable", false: " waiting"}[s == dead])
	}
	slices.Sort(want)
	dead.Kill()
	if got := listed(t, client); got != fmt.Sprint(want) {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestWithoutTheList: a run is created while the master of the list is away. The next command for the run adds it to
// the list, with its time of creation. A run that was removed in that time leaves the list. A run that is over is not
// added again.
func TestWithoutTheList(t *testing.T) {
	t.Parallel()
	b := &bed{T: t}
	c := redistest.StartCluster(t, 3, "--appendonly", "yes", "--appendfsync", "always")
	client, list, names := connected(t, c.URL()), c.Owner(t, index), apart(t, c, 3)
	name, removed, again := names[0], names[1], names[2]
	for _, n := range []string{removed, again} {
		if _, _, err := Create(t.Context(), client, n, constant(1), Options{}); err != nil {
			t.Fatal(err)
		}
	}
	list.Kill()
	_, err := List(t.Context(), client)
	b.wants(err, nil, "list runs: ", "commands that name a run work without it")
	r, created, err := Create(t.Context(), client, name, constant(1), Options{})
	if err != nil || !created || r.Unlisted == nil {
		t.Fatalf("created %v, unlisted %v, error %v", created, r.Unlisted, err)
	}
	for _, n := range []string{removed, again} {
		b.wants(Remove(t.Context(), client, n, false), ErrListed, "remove run "+n+": the run is removed", "loadctl rm "+n+" or loadctl ls")
	}
	back(t, list, client)
	if err := Remove(t.Context(), client, again, false); err != nil {
		t.Errorf("rm again: %v", err)
	}
	b.wants(Remove(t.Context(), client, again, false), ErrNoRun)
	if got := listed(t, client); got != "[]" {
		t.Errorf("listed: %s", got)
	}
	if n := client.ZCard(t.Context(), index).Val(); n != 0 {
		t.Errorf("%d names are left", n)
	}
	relists(t, client, r)
}

// relists checks which commands add a missing run to the list.
func relists(t *testing.T, client rdb.Client, r *Run) {
	t.Helper()
	events, err := r.Events(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	does := map[string]func() error{
		"joins by its description": func() error { _, _, err := Create(t.Context(), client, r.Name, r.Spec, Options{}); return err },
		"joins by name":            func() error { return r.Ready(t.Context()) },
		"starts":                   func() error { _, err := r.Start(t.Context()); return err },
		"is listed again":          func() error { return r.Relist(t.Context()) },
	}
	score := func() float64 { return client.ZScore(t.Context(), index, r.Name).Val() }
	for who, do := range does {
		client.Del(t.Context(), index)
		if err := do(); err != nil {
			t.Errorf("%s: %v", who, err)
		}
		if at := score(); at != float64(events[0].At.Unix()) {
			t.Errorf("%s: listed at %v, created at %v", who, at, events[0].At)
		}
	}
	if _, err := r.Stop(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	client.Del(t.Context(), index)
	for _, who := range []string{"joins by its description", "joins by name", "is listed again"} {
		if err := does[who](); err != nil || score() != 0 {
			t.Errorf("%s when it is over: listed at %v, error %v", who, score(), err)
		}
	}
	if err := Remove(t.Context(), client, r.Name, true); err != nil {
		t.Fatal(err)
	}
	if err := r.Relist(t.Context()); err != nil || score() != 0 {
		t.Errorf("removed: listed at %v, error %v", score(), err)
	}
}
