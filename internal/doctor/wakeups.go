package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/run"
)

// wakeTime is how long a message may take.
const wakeTime = 2 * time.Second

// wakeUps: a command tells the workers at once that the run has changed. Nothing else shows where that is forbidden, because they
// would learn it from their next renewal.
func wakeUps(ctx context.Context, s *server) Finding {
	channel := run.KeysOf(s.scratch(ctx)).Control // on this node: another one's absence is told of that one
	listening := s.whole.Subscribe(ctx, channel)
	defer func() { _ = listening.Close() }()                         // it was only read from
	defer context.AfterFunc(ctx, func() { _ = listening.Close() })() // waiting goes by a time of its own
	err := heard[*redis.Subscription](ctx, listening)
	if err == nil {
		err = s.node.Publish(ctx, channel, "").Err() // as a script does; the client of a cluster would take any node
	}
	if err == nil {
		err = heard[*redis.Message](ctx, listening)
	}
	if err != nil {
		return warn("none arrive, so workers hear of a change some 100 ms later: "+err.Error(), remedy(err, "let PUBLISH and SUBSCRIBE through to the server"))
	}
	return ok("arrive")
}

// heard waits for one reply, of the kind that is due.
func heard[kind any](ctx context.Context, from *redis.PubSub) error {
	reply, err := from.ReceiveTimeout(ctx, wakeTime)
	if err != nil {
		return err
	}
	if _, due := reply.(kind); !due {
		return fmt.Errorf("the server answers with %T", reply)
	}
	return nil
}
