package loadworker

import (
	"log/slog"

	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/pacer/lease"
)

// seats makes the worker say what its share of the requests in flight is.
func (f *memberFlags) seats(w *worker.Worker) {
	first := w.Observe
	second := announceSeats(w.Log, int64(min(f.maxInFlight, f.maxConnections*max(1, f.target.spec.Streams))))
	w.Observe = func(r lease.Reply, v *lease.View) {
		first(r, v)
		second(r, v)
	}
}

// idleTime is how long a worker has no share until it says so, µs: a newcomer has to wait for requests to end.
const idleTime = 1_000_000

// announceSeats logs when a worker of a closed loop with a concurrency has no request to send, as there are more workers than
// requests in flight, and when it may have fewer in flight than its share: most.
func announceSeats(log *slog.Logger, most int64) func(lease.Reply, *lease.View) {
	var idle, short bool
	var since int64 // when it first had none, µs; 0 = it has some
	return func(r lease.Reply, v *lease.View) {
		now := v.Laws.At(r.Now)
		if r.Status != lease.OK || now < 0 || v.Laws.All()[now].T0 > r.Now { // the run has not begun
			return
		}
		n, _ := v.Seats(r.Now)
		all := v.Laws.All()[now].Concurrency()
		if n > 0 || all == 0 || len(v.Held) == 0 {
			since = 0
		} else if since == 0 {
			since = r.Now
		}
		if was := idle; all > 0 && len(v.Held) > 0 {
			if idle = since > 0 && r.Now-since >= idleTime; idle && !was {
				log.Info("waiting: the run has so few requests in flight that none is this worker's", "concurrency", all, "workers", r.Members)
			} else if was && !idle {
				log.Info("sending: some of the requests in flight are this worker's now", "share", n)
			}
		}
		if was := short; n > most {
			if short = true; !was {
				log.Warn("the run has fewer requests in flight than its concurrency: this worker's share is larger than --max-connections and --max-in-flight allow", "share", n, "most", most)
			}
		}
	}
}
