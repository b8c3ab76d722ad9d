package link

import (
	"context"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/mux"
	"github.com/loadctl/loadctl/internal/outage"
)

const (
	subscribePatience = time.Second // of one attempt to subscribe
	firstSubscription = 20 * time.Millisecond
	lastSubscription  = time.Second // the longest wait between two attempts
)

// listen keeps a subscription until ctx ends. When its connection is lost it subscribes again, at once and then less
// and less often.
func listen(ctx context.Context, lines *mux.Dialer, subscribe func(context.Context) error) {
	pause := outage.Backoff{First: firstSubscription, Most: lastSubscription}
	for ctx.Err() == nil {
		limit, cancel := context.WithTimeout(ctx, subscribePatience)
		err := subscribe(limit)
		cancel()
		lost, again := lines.Lost(), (<-chan time.Time)(nil)
		if err == nil {
			pause.Reset()
		} else {
			lost, again = nil, time.After(pause.Next())
		}
		select {
		case <-lost:
		case <-again:
		case <-ctx.Done():
		}
	}
}
