// Package lua holds the scripts that run inside Redis, each atomic, on Redis' own clock.
//
//	reply, err := lua.Renew().Run(ctx, client, keys, args...).StringSlice()
//
// Each script's header states its purpose, KEYS, ARGV, reply and invariant. They need Redis 6.2 or newer.
//
//	make, renew, order, remove   a run: its state, a worker's lease, a change, a worker that is dead
//	right                        what a run may send at endpoints that other runs share
//	ask, budget                  what all runs may send at an endpoint
//	grant                        which slots the limiter of a run lets pass
//	snapshot                     what a worker did
//	value                        what the queries of a run answered
//	samples                      requests that a worker kept as evidence
//	take, all, set_limit, give_back  limiters of pacer/limit
//
// Lua in Redis has no require, so the text of a script is put together from files. What scripts share comes first:
// struct, identity, state, schedule, arrivals, ranges, laws, shares, fleet, calls, lawful, load, ledger, check, limiter,
// bucket. Some of it is the body of a function, because few calls need it.
package lua

import (
	"embed"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed *.lua
var files embed.FS

// Text returns the full text of a script, with what it includes. name is a script of the package comment, or a
// limiter, which comes with take. "grant/gcra" is the grant script of a run with that limiter, "give_back/gcra" gives
// its permits back, and "all/gcra,fixed_window" takes from two limiters. Text panics on any other name.
func Text(name string) string {
	switch script, limiter, _ := strings.Cut(name, "/"); script {
	case "grant", "give_back":
		return read("check") + arithmetic(limiter) + read(limiter) + read(script)
	case "all":
		return read("check") + together(strings.Split(limiter, ",")) + read("all")
	}
	text := read(name)
	switch name {
	case "renew":
		calls := within("calls", read("check")+read("lawful")+read("calls"))
		return read("struct") + read("identity") + read("state") + calls + fleet() + text
	case "order", "remove", "right":
		text = read("struct") + read("identity") + read("state") + fleet() + read("load") + text
	case "make":
		text = read("struct") + read("identity") + read("state") + fleet() + read("load") + read("lawful") + text
	case "ask", "budget":
		text = read("struct") + read("identity") + read("ledger") + text
	case "fixed_window", "sliding_log", "sliding_list", "sliding_window", "leaky_bucket", "token_bucket", "gcra":
		text = arithmetic(name) + text + read("take")
	case "set_limit":
		text = read("limiter") + read("bucket") + text
	}
	return read("check") + text
}

// arithmetic returns what a limiter includes.
func arithmetic(limiter string) string {
	switch limiter {
	case "leaky_bucket", "token_bucket", "gcra":
		return read("limiter") + read("bucket")
	default:
		return read("limiter")
	}
}

// together returns several limiters in a table, each in a scope of its own.
func together(limiters []string) string {
	var text strings.Builder
	text.WriteString(read("limiter") + read("bucket") + "local rules = {}\n")
	for _, name := range limiters {
		text.WriteString("do\n" + read(name) + "rules[#rules + 1] = { capacity = capacity, decide = decide }\nend\n")
	}
	return text.String()
}

// fleet returns what the scripts of a run have in common, as a function: a plain renewal does not call it.
func fleet() string {
	return within("fleet", read("schedule")+read("arrivals")+read("ranges")+read("laws")+read("shares")+read("fleet"))
}

// within makes a text the body of a function of one argument, b.
func within(name, text string) string {
	return "local function " + name + "(b)\n" + text + "end\n"
}

func read(name string) string {
	text, err := files.ReadFile(name + ".lua")
	if err != nil {
		panic(err) // the name is a constant of the caller's
	}
	return expand(string(text))
}

// Make creates the state of a run, once.
func Make() *redis.Script { return redis.NewScript(Text("make")) }

// Renew renews a worker's ranges of the circle.
func Renew() *redis.Script { return redis.NewScript(Text("renew")) }

// Order changes a run. order.lua lists the kinds.
func Order() *redis.Script { return redis.NewScript(Text("order")) }

// Right reads or replaces what a run may send at endpoints that other runs share.
func Right() *redis.Script { return redis.NewScript(Text("right")) }

// Grant asks the limiter of a run, one of those of Limiter, for permission to send slots.
func Grant(limiter string) *redis.Script { return redis.NewScript(Text("grant/" + limiter)) }

// Ask renews, raises, lowers or verifies what a run may send at an endpoint.
func Ask() *redis.Script { return redis.NewScript(Text("ask")) }

// Budget changes what all runs together may send at an endpoint, or says how far a change has come.
func Budget() *redis.Script { return redis.NewScript(Text("budget")) }

// Remove removes a member of a run.
func Remove() *redis.Script { return redis.NewScript(Text("remove")) }

// Snapshot stores one worker's snapshot.
func Snapshot() *redis.Script { return redis.NewScript(Text("snapshot")) }

// Value stores what the queries of a run answered in one point.
func Value() *redis.Script { return redis.NewScript(Text("value")) }

// Samples stores the requests that one process of a worker kept as evidence.
func Samples() *redis.Script { return redis.NewScript(Text("samples")) }
