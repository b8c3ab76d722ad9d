package limit

import "github.com/redis/go-redis/v9"

func slidingList() kind {
	return kind{name: "sliding-list", script: "sliding_list"}
}

// NewSlidingList compares with the Count-th last permit, which must be a window old. It is as exact as the log, with
// less memory: about 10 bytes times Count. x is Count.
func NewSlidingList(client redis.Scripter, key string, l Limit, options ...Option) (*Redis, error) {
	return slidingList().limiter(client, key, l, options)
}
