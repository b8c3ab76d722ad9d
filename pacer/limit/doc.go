// Package limit answers: may I go on now? It limits requests of users, or of a whole fleet, on Redis or in memory.
//
//	users, err := limit.NewSet("token-bucket", limit.Redis(client), "users", limit.PerWindow(100, time.Second), limit.Burst(20))
//	if err != nil {
//		return err
//	}
//	answer, err := users.Take(ctx, "alice", 1) // answers now: answer.Granted is 1 or 0
//
// Each call is one script in Redis, atomic, on the Redis clock. All callers with the same limiter, key and Redis share one
// limit. docs/limiters.md says which limiter to choose. Guarantees: in any time of length W at most R·W + x permits are
// granted. R is the rate Count/Window; NewSet states x. That holds for any number of clients, whatever their clocks say,
// and if the Redis clock goes back. Nothing is lost or gained by rounding, even in years. Keys that are not used expire.
//
// If an answer is lost, go-redis repeats the call: it takes its permits twice, and those of the lost answer are not used.
package limit
