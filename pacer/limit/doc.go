// Package limit says who may go on now: the limiters that are built on Redis, for a fleet of any size.
//
//	bucket, err := limit.NewTokenBucket(client, "checkout", limit.PerWindow(100, time.Second), limit.Burst(20))
//	if err != nil {
//		return err
//	}
//	answer, err := bucket.Take(ctx, 1) // answers now: answer.Granted is 1 or 0
//	err = bucket.Wait(ctx, 1)          // returns when it is granted
//
// Each call is one script in Redis, atomic, on the clock of Redis. All who use the same limiter, key and Redis share one limit, which
// SetLimit changes for all of them at once. docs/limiters.md compares the limiters and says when to take which.
//
// Guarantees: in any time of length W at most R·W + x permits are granted, R being the rate Count/Window, however many clients there are,
// whatever their clocks say, and where a clock of Redis goes back. x is said at each constructor. Arithmetic is in integers: nothing is
// rounded away or made, in years. The state of a key is one key in Redis and ends by itself when it is not used.
//
// A call that is repeated because its answer was lost takes its permits twice; those of the lost answer are not used.
package limit
