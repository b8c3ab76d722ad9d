package limit

import "github.com/redis/go-redis/v9"

func leakyBucket() kind {
	return kind{name: "leaky-bucket", script: "leaky_bucket", bursts: true, queues: true}
}

// NewLeakyBucket is a queue: it tells each caller when to go, one each 1/R, and refuses only when Burst of them wait. x is 1, of the times at
// which they go. Take returns at once with RetryAfter, to be kept to; of n permits that is when the last of them may go, and all
// of them if they go together, which makes x n. Option: Burst.
func NewLeakyBucket(client redis.Scripter, key string, l Limit, options ...Option) (*Redis, error) {
	return leakyBucket().limiter(client, key, l, options)
}
