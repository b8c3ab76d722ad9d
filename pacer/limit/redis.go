package limit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/lua"
)

// Redis returns a Store in Redis 6.2 or newer: one server, the master that Sentinel names, or a cluster. All states of a
// key have one hash tag, {key}. Set DisableRoutingPolicies of a redis.ClusterClient, so that a call waits for no node
// that it does not need.
func Redis(client redis.Cmdable) Store { return &remote{client} }

type remote struct{ client redis.Cmdable }

// call has the arguments of take.lua, or of all.lua. Those of take.lua are one piece of memory: go-redis reads the numbers
// where they are.
type call struct {
	keys []string
	args []any
	name int64 // of the call, also if the script does not need it

	own                                         [2]string
	list                                        [7]any
	n, all, count, window, burst, option, named int64
}

func newCall(rules []*rule, key string, n int64, all bool) (*call, error) {
	c, err := callOf(rules[0], key, n, all)
	if err != nil || len(rules) == 1 {
		return c, err
	}
	joint := &call{name: c.name, args: []any{n, all, c.name}}
	for _, r := range rules {
		c, err := callOf(r, key, n, all)
		if err != nil {
			return nil, err
		}
		joint.keys, joint.args = append(joint.keys, c.keys...), append(joint.args, c.args[2:6]...)
	}
	return joint, nil
}

func callOf(r *rule, key string, n int64, all bool) (*call, error) {
	l, err := r.limitOf(key)
	if err != nil {
		return nil, err
	}
	c := &call{
		n: n, count: l.Count, window: l.Window.Microseconds(), burst: l.burst(), option: r.option,
		name: rand.Int64N(1 << 53),
	}
	if all {
		c.all = 1
	}
	if r.kind.queues { // only a queue has to know who was last
		c.named = c.name
	}
	c.own[0], c.own[1] = r.keys(key)
	c.list = [7]any{&c.n, &c.all, &c.count, &c.window, &c.burst, &c.option, &c.named}
	c.keys, c.args = c.own[:], c.list[:]
	return c, nil
}

// keys returns the keys of state and limit, in one piece of memory.
func (r *rule) keys(key string) (state, limit string) {
	const ends = len(":state")
	half := len(r.prefix) + len(key) + len(r.kind.name) + len(":{}:") + ends
	var text strings.Builder
	text.Grow(2 * half)
	for _, end := range [2]string{":state", ":limit"} {
		for _, part := range [6]string{r.prefix, ":{", key, "}:", r.kind.name, end} {
			text.WriteString(part)
		}
	}
	both := text.String()
	return both[:half], both[half:]
}

func (s *remote) take(ctx context.Context, set *Set, key string, n int64, all bool) (Answer, error) {
	c, err := newCall(set.rules, key, n, all)
	if err != nil {
		return Answer{}, err
	}
	return answer(ctx, set.rules, set.script.Run(ctx, s.client, c.keys, c.args...), c.name)
}

// takeMany sends all calls at once. Those that find a server without the script are sent again with its text.
func (s *remote) takeMany(ctx context.Context, set *Set, keys []string, n int64) ([]Answer, []error) {
	answers, errs := make([]Answer, len(keys)), make([]error, len(keys))
	calls, replies := make([]*call, len(keys)), make([]*redis.Cmd, len(keys))
	for i, key := range keys {
		calls[i], errs[i] = newCall(set.rules, key, n, true)
	}
	for _, send := range []func(*redis.Script, context.Context, redis.Scripter, []string, ...any) *redis.Cmd{
		(*redis.Script).EvalSha, (*redis.Script).Eval,
	} {
		pipe := s.client.Pipeline()
		for i, c := range calls {
			if c != nil && (replies[i] == nil || redis.HasErrorPrefix(replies[i].Err(), "NOSCRIPT")) {
				replies[i] = send(set.script, ctx, pipe, c.keys, c.args...)
			}
		}
		if pipe.Len() > 0 {
			_, _ = pipe.Exec(ctx) // each reply has its own error
		}
	}
	for i, c := range calls {
		if c != nil {
			answers[i], errs[i] = answer(ctx, set.rules, replies[i], c.name)
		}
	}
	return answers, errs
}

// answer reads the reply of take.lua, or of all.lua for several rules.
func answer(ctx context.Context, rules []*rule, reply *redis.Cmd, name int64) (Answer, error) {
	fields, err := reply.Slice()
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "NEVER "):
		return Answer{}, ErrNever
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Answer{}, fmt.Errorf("%w: %w", errSilent, err)
	case err != nil:
		return Answer{}, err
	case len(fields) != 5*len(rules):
		return Answer{}, fmt.Errorf("the reply has %d fields instead of %d", len(fields), 5*len(rules))
	case len(rules) == 1:
		return partOf(fields, name), nil
	}
	parts := make([]Answer, len(rules))
	for i := range rules {
		parts[i] = partOf(fields[5*i:], name)
	}
	return together(rules, parts), nil
}

func partOf(fields []any, name int64) Answer {
	number := func(i int) int64 { x, _ := fields[i].(int64); return x }
	return Answer{
		Granted: number(0), Remaining: number(1),
		RetryAfter: time.Duration(number(2)) * time.Microsecond, ResetAfter: time.Duration(number(3)) * time.Microsecond,
		at: number(4), name: name,
	}
}

func (s *remote) back(ctx context.Context, r *rule, key string, a Answer) error {
	state, _ := r.keys(key)
	mark := strings.TrimSuffix(state, "state") + "back:" + strconv.FormatInt(a.name, 10)
	return r.undo().Run(ctx, s.client, []string{state, mark}, a.name, a.at, a.Granted).Err()
}

func (s *remote) forget(ctx context.Context, set *Set, key string) error {
	var keys []string
	for _, r := range set.rules {
		state, _ := r.keys(key)
		keys = append(keys, state)
	}
	return s.client.Del(ctx, keys...).Err()
}

func (s *remote) set(ctx context.Context, r *rule, key string, l Limit) error {
	drops := 0 // whether the limiter counts in drops: those with a burst do
	if r.kind.bursts {
		drops = 1
	}
	_, limit := r.keys(key)
	return lua.SetLimit().Run(ctx, s.client, []string{limit}, l.Count, l.Window.Microseconds(), l.burst(), drops).Err()
}
