package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/run"
)

// sentinelChecks are those of a server, and what only a master with Sentinels has.
func sentinelChecks(w *run.Watched, expected int) []serverCheck {
	return append(serverChecks(), sentinelConnections(w, expected), serverCheck{"sentinel", func(ctx context.Context, _ *server) Finding {
		views := make([]view, len(w.Sentinels))
		var all sync.WaitGroup
		for i, s := range w.Sentinels {
			all.Go(func() { views[i] = viewOf(ctx, s, w.Name) })
		}
		all.Wait()
		return watching(w.Name, views)
	}})
}

// A view is what one Sentinel tells about the master.
type view struct {
	addr   string
	err    error             // it tells nothing
	master map[string]string // SENTINEL MASTER
	quorum error             // why no failover would be possible, or why that cannot be told
}

// viewTime is how long one Sentinel may take.
const viewTime = 2 * time.Second

func viewOf(ctx context.Context, s run.Sentinel, name string) view {
	ctx, cancel := context.WithTimeout(ctx, viewTime)
	defer cancel()
	v := view{addr: s.Addr}
	v.master, v.err = s.Master(ctx, name).Result()
	if v.err == nil {
		v.quorum = s.CkQuorum(ctx, name).Err()
	}
	return v
}

// watching is about whether the Sentinels could replace the master, and soon enough. The first thing that is wrong is told.
func watching(name string, views []view) Finding {
	var told []view
	var silent, useless []string
	var refused error
	for _, v := range views {
		_, answered := errors.AsType[redis.Error](v.err)
		switch {
		case v.err == nil:
			told = append(told, v)
		case answered:
			refused = v.err
			useless = append(useless, v.addr+" ("+v.err.Error()+")")
		default:
			silent = append(silent, v.addr)
		}
	}
	if len(told) == 0 {
		if refused == nil {
			return bad("none of the Sentinels in the URL answers", "start them, or check their addresses")
		}
		return warn("cannot be told: "+refused.Error(), "allow the user of sentinel_username +sentinel|master +sentinel|ckquorum")
	}
	if len(silent) > 0 {
		return warn(strings.Join(silent, ", ")+" does not answer", "start it, or take it out of the URL: a fleet hears of a failover from the Sentinels that are named there")
	}
	if len(useless) > 0 {
		return warn(strings.Join(useless, ", ")+" does not tell the master", "check its password and its master "+name+", or take it out of the URL")
	}
	for _, v := range told[1:] {
		if one, other := told[0].at(), v.at(); one != other {
			return warn(fmt.Sprintf("they disagree: %s says that %s is the master, and %s says %s", told[0].addr, one, v.addr, other),
				"wait until a failover is over, then check SENTINEL MASTER "+name+" at each of them")
		}
	}
	var all Finding
	for _, v := range told {
		if all = v.judged(name, len(views)); all.State != OK {
			break
		}
	}
	return all
}

// at is the address of the master that a Sentinel tells.
func (v view) at() string { return net.JoinHostPort(v.master["ip"], v.master["port"]) }

// judged is the finding about what one Sentinel tells. The URL names some of them.
func (v view) judged(name string, named int) Finding {
	number := func(field string) int {
		n, _ := strconv.Atoi(v.master[field])
		return n
	}
	sentinels, replicas := number("num-other-sentinels")+1, number("num-slaves")
	dead := time.Duration(number("down-after-milliseconds")) * time.Millisecond
	at := v.at()
	refused := v.quorum != nil && strings.Contains(v.quorum.Error(), "NOQUORUM")
	switch {
	case refused:
		return bad("no failover is possible: "+v.quorum.Error(), "start the Sentinels that are missing: SENTINEL SENTINELS "+name+" shows them")
	case replicas == 0:
		return warn("no replica could take over from "+at, "give the master a replica, two with min-replicas-to-write 1")
	case sentinels < 3:
		return warn(fmt.Sprintf("%d of them watch %s: with fewer than three, the loss of one ends all failovers", sentinels, at), "run three Sentinels, on three machines")
	case named < sentinels:
		return warn(fmt.Sprintf("the URL names %d of %d Sentinels: a worker may hear of a failover late", named, sentinels), "name the others too: &addr=host:port")
	case dead+election > bridged:
		return warn(fmt.Sprintf("a dead master is replaced after %v, and workers go on for %v without one", dead+election, bridged),
			fmt.Sprintf("SENTINEL SET %s down-after-milliseconds 5000 at each of them, or give runs a longer --permit-for", name))
	}
	return ok(fmt.Sprintf("%d Sentinels watch %s, quorum %s; replicas: %d; a dead master is replaced after %v", sentinels, at, v.master["quorum"], replicas, dead+election))
}

// election is about how long a failover takes once enough Sentinels, or masters of a cluster, have noticed that a master is dead.
const election = 2 * time.Second

// bridged is for how long workers surely go on without a master, with promises of the usual length: in a fleet of 10,000 the last renewal of one
// may be 2.5 s old when the master dies.
const bridged = run.DefaultPermitFor - 2500*time.Millisecond
