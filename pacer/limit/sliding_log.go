package limit

import "github.com/redis/go-redis/v9"

func slidingLog() kind {
	return kind{name: "sliding-log", script: "sliding_log"}
}

// NewSlidingLog keeps the time of each permit of the last window: never more than Count in any window. x is Count.
// Its memory grows with Count, about 130 bytes each.
func NewSlidingLog(client redis.Scripter, key string, l Limit, options ...Option) (*Redis, error) {
	return slidingLog().limiter(client, key, l, options)
}
