// Package limit answers: may I go on now? It has limiters on Redis, for a fleet of any size.
//
//	bucket, err := limit.NewTokenBucket(client, "checkout", limit.PerWindow(100, time.Second), limit.Burst(20))
//	if err != nil {
//		return err
//	}
//	answer, err := bucket.Take(ctx, 1) // answers now: answer.Granted is 1 or 0
//	err = bucket.Wait(ctx, 1)          // returns when it is granted
//
// Each call is one script in Redis, atomic, on the Redis clock. All callers with the same limiter, key and Redis
// share one limit, which SetLimit changes for all of them at once. docs/limiters.md compares the limiters and says
// when to use which.
//
// Guarantees: in any time of length W at most R·W + x permits are granted. R is the rate Count/Window; each
// constructor states x. That holds for any number of clients, whatever their clocks say, and if the Redis clock goes
// back. Arithmetic is in integers: nothing is lost or gained by rounding, even in years. The state of a key is one
// key in Redis, which expires if it is not used.
//
// A call that is repeated because its answer was lost takes its permits twice. The permits of the lost answer are not
// used.
package limit
