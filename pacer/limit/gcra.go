package limit

import "github.com/redis/go-redis/v9"

func gcra() kind {
	return kind{name: "gcra", script: "gcra", bursts: true}
}

// NewGCRA is the generic cell rate algorithm: a token bucket stored as one time, at which all granted permits are
// paid for. x is Burst. With Burst(1) the permits are evenly spaced. Option: Burst. (The schedule of a run is a GCRA
// too; workers own its slots: package pacer.)
func NewGCRA(client redis.Scripter, key string, l Limit, options ...Option) (*Redis, error) {
	return gcra().limiter(client, key, l, options)
}
