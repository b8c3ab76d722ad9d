// Package worker is the engine: it sends the requests of one member of a fleet.
//
//	target, _ := client.New(targets.Spec{URL: "http://127.0.0.1:8080/"}, targets.Local{})
//	clock := pacer.NewClock()
//	w := worker.Worker{
//		ID: "w1", Incarnation: "4711", Server: server, Clock: clock, Journal: journal,
//		NewClient: func(int) (worker.Client, error) { return blocking.New(clock, target, 64), nil },
//	}
//	total, err := w.Run(ctx)
//
// Data flows one way. The Renewer (pacer/lease) hands a View of what the worker holds to the shards. Each shard is
// one goroutine that owns its slots, its Client and its recorder, and sends what is due. Once a second the publisher
// collects the recorders into a snapshot and gives it to the Journal. Nothing flows back: neither a slow endpoint nor
// a slow Redis delays the next request (open loop).
//
// Guarantees: every slot that the worker owns is counted exactly once, as sent, late_dropped, recalled or, in a run
// with a limiter, ungranted. No request is sent before it is due. A stall of the process never becomes a burst: late
// slots leave at no more than twice the shard's own pace, or are dropped and counted. Latency counts from the due
// time.
package worker
