package limit

import "github.com/redis/go-redis/v9"

func leakyBucket() kind {
	return kind{name: "leaky-bucket", script: "leaky_bucket", bursts: true, queues: true}
}

// NewLeakyBucket is a queue. Its answer says when each caller may go, one each 1/R, and refuses only when Burst callers
// wait. x is 1, counted at the times when they go. Take returns at once with a RetryAfter that the caller must keep.
// For n permits it is when the last of them may go. If all n go together then, x is n. Option: Burst.
func NewLeakyBucket(client redis.Scripter, key string, l Limit, options ...Option) (*Redis, error) {
	return leakyBucket().limiter(client, key, l, options)
}
