package limit

import "github.com/redis/go-redis/v9"

func tokenBucket() kind {
	return kind{name: "token-bucket", script: "token_bucket", bursts: true, option: "Debt", most: 1}
}

// NewTokenBucket saves up to Burst permits while it is idle and grants them at once. x is Burst; with Debt it is
// Burst plus the largest n. Options: Burst, Debt.
func NewTokenBucket(client redis.Scripter, key string, l Limit, options ...Option) (*Redis, error) {
	return tokenBucket().limiter(client, key, l, options)
}
