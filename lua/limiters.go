package lua

import (
	"strings"

	"github.com/redis/go-redis/v9"
)

// Limiter takes permits from a limiter. name is "fixed_window", "sliding_log", "sliding_list", "sliding_window",
// "leaky_bucket", "token_bucket" or "gcra".
func Limiter(name string) *redis.Script { return redis.NewScript(Text(name)) }

// SetLimit changes a limit for all its users.
func SetLimit() *redis.Script { return redis.NewScript(Text("set_limit")) }

// GiveBack gives back permits that a limiter granted. name is as for Limiter.
func GiveBack(name string) *redis.Script { return redis.NewScript(Text("give_back/" + name)) }

// All takes permits from several limiters, of each or of none. names are as for Limiter.
func All(names ...string) *redis.Script {
	return redis.NewScript(Text("all/" + strings.Join(names, ",")))
}
