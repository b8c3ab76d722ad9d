package lua

import "github.com/redis/go-redis/v9"

// Limiter takes permits from a limiter. name is "fixed_window", "sliding_log", "sliding_list", "sliding_window",
// "leaky_bucket", "token_bucket" or "gcra".
func Limiter(name string) *redis.Script { return redis.NewScript(Text(name)) }

// SetLimit changes a limit for all its users.
func SetLimit() *redis.Script { return redis.NewScript(Text("set_limit")) }

// GiveBack gives back what a leaky bucket granted last.
func GiveBack() *redis.Script { return redis.NewScript(Text("give_back")) }
