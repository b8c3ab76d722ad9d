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

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/spec"
)

// sentinelChecks returns the checks of a server, and those that only a master with Sentinels needs.
func sentinelChecks(w *link.Watched, expected int) []serverCheck {
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

// A view is what one Sentinel says about the master.
type view struct {
	addr   string
	err    error             // it did not answer
	master map[string]string // SENTINEL MASTER
	quorum error             // why no failover would be possible, or why that is unknown
}

// viewTime bounds the call to one Sentinel.
const viewTime = 2 * time.Second

func viewOf(ctx context.Context, s link.Sentinel, name string) view {
	ctx, cancel := context.WithTimeout(ctx, viewTime)
	defer cancel()
	v := view{addr: s.Addr}
	v.master, v.err = s.Master(ctx, name).Result()
	if v.err == nil {
		v.quorum = s.CkQuorum(ctx, name).Err()
	}
	return v
}

// watching checks whether the Sentinels could replace the master, and soon enough. It reports the first problem.
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
		return warn("unknown: "+refused.Error(), "allow the user of sentinel_username +sentinel|master +sentinel|ckquorum")
	}
	if len(silent) > 0 {
		return warn(strings.Join(silent, ", ")+" does not answer", "start it, or remove it from the URL: a fleet hears of a failover from the Sentinels in the URL")
	}
	if len(useless) > 0 {
		return warn(strings.Join(useless, ", ")+" does not know the master", "check its password and its master "+name+", or remove it from the URL")
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

// at returns the address of the master as a Sentinel reports it.
func (v view) at() string { return net.JoinHostPort(v.master["ip"], v.master["port"]) }

// judged returns the finding about what one Sentinel says. named is the number of Sentinels in the URL.
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
		return bad("no failover is possible: "+v.quorum.Error(), "start the missing Sentinels: SENTINEL SENTINELS "+name+" shows them")
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

// election is about how long a failover takes after enough Sentinels, or masters of a cluster, have noticed that a
// master is dead.
const election = 2 * time.Second

// bridged is how long workers certainly send without a master, with leases of the usual length. In a fleet of 10,000
// the last renewal of a worker may be 2.5 s old when the master dies.
const bridged = spec.DefaultPermitFor - 2500*time.Millisecond
