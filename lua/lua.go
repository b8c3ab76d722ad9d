// Package lua holds the scripts that run inside Redis, each atomic, on Redis' own clock.
//
//	reply, err := lua.Lease().Run(ctx, client, keys, args...).StringSlice()
//
// Each script's header states its purpose, KEYS, ARGV, what it returns and the invariant it keeps. They
// need Redis 6.2 or newer. struct.lua, form.lua, check.lua, schedule.lua, member.lua, changes.lua, budget.lua, permit.lua, limiter.lua,
// bucket.lua, take.lua, gate.lua and grant.lua are not scripts but parts of them. Lua in Redis has no require, so a script's text is put together from
// files: what it shares in front, some of it as the body of a function; take.lua or grant.lua behind a limiter; a limiter and gate.lua in front of the lease
// script.
package lua

import (
	"embed"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed *.lua
var files embed.FS

// Text is the full text of a script, with what it includes: "create", "lease", "command", "leave", "snapshot", a limiter,
// "set_limit" or "give_back"; "lease/gcra" is the lease script of a run with that limiter, and "grant/gcra"
// is the grant script. It panics on any other name.
func Text(name string) string {
	if limiter, ok := strings.CutPrefix(name, "lease/"); ok {
		return leaseText(gate(limiter), read("lease"))
	}
	if limiter, ok := strings.CutPrefix(name, "grant/"); ok {
		return read("check") + arithmetic(limiter) + read(limiter) + read("grant")
	}
	text := read(name)
	switch name {
	case "lease":
		return leaseText("local gate = nil -- every grant is one of the schedule's\n", text)
	case "command", "leave":
		text = shared() + read("permit") + text
	case "create":
		text = shared() + text
	case "renew":
		calls := within("calls", read("check")+read("lawful")+read("calls"))
		return read("struct") + read("state") + calls + fleet() + text
	case "order", "remove":
		text = read("struct") + read("state") + fleet() + read("load") + text
	case "make":
		text = read("struct") + read("state") + fleet() + read("load") + read("lawful") + text
	case "fixed_window", "sliding_log", "sliding_list", "sliding_window", "leaky_bucket", "token_bucket", "gcra":
		text = arithmetic(name) + text + read("take")
	case "set_limit":
		text = read("limiter") + read("bucket") + text
	case "give_back":
		text = read("limiter") + text
	}
	return read("check") + text
}

// leaseText is the lease script behind a text that defines gate.
func leaseText(gate, lease string) string {
	return within("check", read("check")+"return refuse\n") + shared() + read("permit") + gate + lease
}

// gate is gate.lua with a limiter: in a block, because the limiter's names are its own.
func gate(limiter string) string {
	return "local gate\ndo\nlocal MOST = 2 ^ 53 -- as in check.lua\n" + arithmetic(limiter) + read(limiter) + read("gate") + "end\n"
}

// arithmetic is what a limiter needs in front.
func arithmetic(limiter string) string {
	switch limiter {
	case "leaky_bucket", "token_bucket", "gcra":
		return read("limiter") + read("bucket")
	default:
		return read("limiter")
	}
}

// shared is what the scripts have in common that know the budget.
func shared() string {
	common := read("form") + read("schedule") + read("member")
	return read("struct") + common + within("changes", common+read("changes")) + read("budget")
}

// fleet is what the scripts of a run by arcs have in common: a function that few renewals call.
func fleet() string {
	return within("fleet", read("schedule")+read("segs")+read("laws")+read("shares")+read("fleet"))
}

// within makes a text the body of a function, which takes the budget and the keys.
func within(name, text string) string {
	return "local function " + name + "(b, keys)\n" + text + "end\n"
}

func read(name string) string {
	text, err := files.ReadFile(name + ".lua")
	if err != nil {
		panic(err) // the name is a constant of the caller's
	}
	return string(text)
}

// Create makes a run's state, once.
func Create() *redis.Script { return redis.NewScript(Text("create")) }

// Lease grants one member the next range of slot numbers.
func Lease() *redis.Script { return redis.NewScript(Text("lease")) }

// LeaseBy is Lease for a run with a limiter, one of those that Limiter takes: it grants no more than that lets through.
func LeaseBy(limiter string) *redis.Script { return redis.NewScript(Text("lease/" + limiter)) }

// Command changes a run, as its kind says: command.lua lists them.
func Command() *redis.Script { return redis.NewScript(Text("command")) }

// Leave takes a member out of the weight sum.
func Leave() *redis.Script { return redis.NewScript(Text("leave")) }

// Make makes the state of a run by arcs, once.
func Make() *redis.Script { return redis.NewScript(Text("make")) }

// Renew renews what a worker holds of the circle.
func Renew() *redis.Script { return redis.NewScript(Text("renew")) }

// Order changes a run by arcs, as its kind says: order.lua lists them.
func Order() *redis.Script { return redis.NewScript(Text("order")) }

// Grant asks the limiter of a run by arcs, one of those that Limiter takes, for permission to send slots.
func Grant(limiter string) *redis.Script { return redis.NewScript(Text("grant/" + limiter)) }

// Remove takes a member of a run by arcs for gone.
func Remove() *redis.Script { return redis.NewScript(Text("remove")) }

// Snapshot stores one worker's snapshot.
func Snapshot() *redis.Script { return redis.NewScript(Text("snapshot")) }
