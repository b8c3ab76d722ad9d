package limit

import "github.com/redis/go-redis/v9"

func fixedWindow() kind {
	return kind{name: "fixed-window", script: "fixed_window", option: "ExpireNX", most: 1}
}

// NewFixedWindow counts permits in windows. A window begins with its first permit. x is 2·Count: where two windows
// meet, that many may come at once. It is the simplest limiter. Option: ExpireNX.
func NewFixedWindow(client redis.Scripter, key string, l Limit, options ...Option) (*Redis, error) {
	return fixedWindow().limiter(client, key, l, options)
}
