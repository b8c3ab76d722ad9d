package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
)

const (
	scratchLife = 30 * time.Second // of the scratch run, if it cannot be removed
	removeTime  = 2 * time.Second
)

// scripts runs each script on a run of its own. This shows what the server, its configuration or an ACL forbids.
func scripts(ctx context.Context, s *server) Finding {
	name := s.scratch(ctx)
	if err := cmp.Or(live(ctx, s.whole, name), remove(ctx, s.whole, name)); err != nil {
		wrong, _ := link.Remedy(err)
		return bad(wrong, remedy(err, "check that the server is Redis 6.2 or newer, and read its log"))
	}
	return ok("a run was created, joined, reported to, paused, left and removed")
}

// scratch returns a name for a run that lives on this node. In a cluster the name decides on which node; with N masters
// about every Nth name fits.
func (s *server) scratch(ctx context.Context) (name string) {
	const tries = 10_000
	for range tries {
		name = "doctor-" + run.NewID()
		cluster, parts := s.whole.(*redis.ClusterClient)
		node, is := s.node.(*redis.Client)
		if !parts || !is {
			break
		}
		if home, err := cluster.MasterForKey(ctx, run.KeysOf(name).Budget); err != nil || home.Options().Addr == node.Options().Addr {
			break
		}
	}
	return name
}

// live plays the life of a run, as far as it gets.
func live(ctx context.Context, client rdb.Client, name string) error {
	spec := spec.Spec{
		Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(1), MaxLag: spec.DefaultMaxLag, CatchUp: spec.DefaultCatchUp, MinWorkers: 1,
	}
	r, _, err := run.Create(ctx, client, name, spec, run.Options{Keep: scratchLife})
	if err != nil {
		return err
	}
	const worker = "doctor"
	incarnation := run.NewID()
	leasing, holder := r.Leases(client), lease.NewHolder(worker, incarnation, 1)
	renew := func(want lease.Status) error {
		reply, err := leasing.Renew(ctx, holder.Call())
		if err != nil {
			return err
		}
		if reply.Status != want {
			return fmt.Errorf("renew a lease: status %s of a run that was just begun", reply.Status)
		}
		holder.Receive(reply.Now, reply)
		return nil
	}
	if err := renew(lease.OK); err != nil {
		return err
	}
	journal, snapshot := results.NewJournal(r, worker, incarnation), record.NewSnapshot(worker, incarnation)
	snapshot.Seq = 1
	if err := journal.Publish(ctx, snapshot, snapshot, nil); err != nil {
		return err
	}
	if _, err := r.Pause(ctx); err != nil {
		return err
	}
	holder.Halt(0)
	return renew(lease.Gone)
}

// away tells whether an error says that a node of a cluster is missing.
func away(err error) bool {
	return link.Unanswered(err) || strings.Contains(err.Error(), "CLUSTERDOWN")
}

// remove removes all data of a run, also if the data is not whole or ctx has ended: a script that fails half-way is not
// undone.
func remove(ctx context.Context, client rdb.Client, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	err := run.Discard(ctx, client, name)
	if link.IsCluster(client) && errors.Is(err, run.ErrListed) && away(err) {
		return nil // it was not put on the list either, and that node's own finding says that it is missing
	}
	if errors.Is(err, run.ErrNoRun) {
		return nil
	}
	return err
}
