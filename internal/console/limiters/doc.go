// Package limiters describes each limiter, and measures what it does: the tables and plots of `loadctl limiters`.
//
//	chosen, err := limiters.Named() // all of them
//	if err != nil {
//		return err
//	}
//	m := limiters.Measurement{Redis: server.URL(), QPS: 500, Duration: 3 * time.Second, Window: time.Second, Burst: 250}
//	seen, err := m.Run(ctx, chosen, nil)
//
// The table holds facts, each verified by a test. The measurement is traffic: it sends to a server inside this process,
// which counts arrivals, and compares them with what the limiter promises: at most R·W + x in any time of length W.
package limiters
