package limit

import "github.com/redis/go-redis/v9"

func gcra() kind {
	return kind{name: "gcra", script: "gcra", bursts: true}
}

// NewGCRA is the generic cell rate algorithm: the token bucket kept as one time, at which all that was granted is paid for. x is Burst; with
// Burst(1) the permits are evenly spaced. Option: Burst. (The schedule of a run is a GCRA too, whose slots workers own: package pacer.)
func NewGCRA(client redis.Scripter, key string, l Limit, options ...Option) (*Redis, error) {
	return gcra().limiter(client, key, l, options)
}
