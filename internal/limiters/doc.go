// Package limiters tells what each limiter is, and measures what it does: the tables and plots of `loadctl limiters`.
//
//	chosen, err := limiters.Named() // all of them
//	if err != nil {
//		return err
//	}
//	seen, err := limiters.Measurement{Redis: server.URL(), QPS: 500, Duration: 3 * time.Second, Window: time.Second, Burst: 250}.Run(ctx, chosen, nil)
//
// The table is facts, each found again by a test. The measurement is traffic: it fires at a server inside this process, which counts what
// arrives, and holds that against what the limiter promises, R·W + x in any time of length W.
package limiters
