package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
)

const (
	// spareClients is how many connections a fleet needs besides one for each worker: for commands, the worker that
	// judges thresholds, and watchers.
	spareClients = 20
	// redisOwn is how many descriptors a Redis keeps for itself, besides one for each client.
	redisOwn = 32
)

// connections checks for free client connections: each worker has one. A Redis without room refuses further clients.
func connections(ctx context.Context, s *server) Finding {
	text, err := s.either(ctx, "maxclients")
	if err != nil {
		return s.unclear(err)
	}
	most, err := strconv.Atoi(text)
	if err != nil {
		return s.unclear(errNoValue)
	}
	text, _ = s.field(ctx, "connected_clients") // INFO may be forbidden
	connected, _ := strconv.Atoi(text)
	return judgeConnections(s.expected, most, connected)
}

// judgeConnections judges the number of expected workers (0 = not given), the most clients the server accepts, and
// those connected.
func judgeConnections(expected, most, connected int) Finding {
	room := max(0, most-connected-spareClients)
	has := fmt.Sprintf("maxclients is %d, %d are connected", most, connected)
	if expected <= room {
		return ok(fmt.Sprintf("%s: room for %d more workers", has, room))
	}
	need := expected + connected + spareClients
	return bad(fmt.Sprintf("%d workers are expected, but there is room for %d: %s", expected, room, has),
		fmt.Sprintf("redis-cli CONFIG SET maxclients %d, and the same in its configuration file; Redis needs %d file descriptors for it (ulimit -n, or LimitNOFILE= in systemd)",
			need, need+redisOwn))
}

// sentinelConnections checks the Sentinels: each worker also has a connection to each of them. It skips Sentinels that
// do not answer, because the check of Sentinels names them.
func sentinelConnections(w *link.Watched, expected int) serverCheck {
	return serverCheck{"sentinel connections", func(ctx context.Context, _ *server) Finding {
		var all []Finding
		for _, s := range w.Sentinels {
			limit, cancel := context.WithTimeout(ctx, viewTime)
			info := redis.NewStringCmd(limit, "info", "clients")
			_ = s.Process(limit, info) // the error is in the command
			cancel()
			told := parseInfo(info.Val())
			most, err := strconv.Atoi(told["maxclients"])
			if err != nil {
				continue
			}
			connected, _ := strconv.Atoi(told["connected_clients"])
			f := judgeConnections(expected, most, connected)
			f.Found = s.Addr + ": " + f.Found
			if f.State == Bad {
				f.Mend = fmt.Sprintf("put maxclients %d into the configuration file of each Sentinel, and start it again", expected+connected+spareClients)
			}
			all = append(all, f)
		}
		if len(all) == 0 {
			return ok("unknown, the Sentinels do not say")
		}
		return slices.MaxFunc(all, func(a, b Finding) int { return severity(a) - severity(b) })
	}}
}

// redisDescriptors checks the descriptors for a Redis on this machine, such as the embedded one: it needs one for each
// worker. Other machines have their own limits.
func redisDescriptors(m machine) Finding {
	_, hard, known := descriptorLimit()
	if !known {
		return ok("unknown")
	}
	return judgeRedisDescriptors(m.expected, hard)
}

func judgeRedisDescriptors(expected int, hard uint64) Finding {
	need := uint64(expected + spareClients + redisOwn)
	if hard >= need {
		return ok(fmt.Sprintf("%d, enough for a Redis on this machine with %d workers", hard, expected))
	}
	return warn(fmt.Sprintf("a Redis on this machine needs %d file descriptors for %d workers, %d are allowed", need, expected, hard),
		fmt.Sprintf("where Redis runs: ulimit -n %d as root, or LimitNOFILE= in systemd, --ulimit nofile= in Docker", need))
}
