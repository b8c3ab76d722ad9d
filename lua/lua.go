// Package lua holds the scripts that run inside Redis, each atomic, on Redis' own clock.
//
//	reply, err := lua.Lease().Run(ctx, client, keys, args...).StringSlice()
//
// Each script's header states its purpose, KEYS, ARGV, what it returns and the invariant it keeps. They
// need Redis 6.2 or newer. check.lua, schedule.lua, budget.lua and permit.lua are not scripts but what the others share; Lua in Redis
// has no require, so they are put in front.
package lua

import (
	"embed"

	"github.com/redis/go-redis/v9"
)

//go:embed *.lua
var files embed.FS

// Text is the full text of a script, with what it includes: "create", "lease", "command", "leave" or
// "snapshot". It panics on any other name.
func Text(name string) string {
	text := read(name)
	switch name {
	case "lease", "command", "leave":
		text = read("schedule") + read("budget") + read("permit") + text
	}
	return read("check") + text
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

// Command changes a run: set-rate, pause, resume, stop.
func Command() *redis.Script { return redis.NewScript(Text("command")) }

// Leave takes a member out of the weight sum.
func Leave() *redis.Script { return redis.NewScript(Text("leave")) }

// Snapshot stores one worker's snapshot.
func Snapshot() *redis.Script { return redis.NewScript(Text("snapshot")) }
