package limit

import "github.com/redis/go-redis/v9"

func slidingWindow() kind {
	return kind{name: "sliding-window", script: "sliding_window", option: "Parts", preset: 10, most: 1000}
}

// NewSlidingWindow cuts the window into m parts and counts in each. It is almost a log, in m numbers. x is Count·(1 +
// 2/m). Option: Parts; if callers of a key differ, the largest number counts.
func NewSlidingWindow(client redis.Scripter, key string, l Limit, options ...Option) (*Redis, error) {
	return slidingWindow().limiter(client, key, l, options)
}
