package arrivals

import (
	"context"
	"net"
	"net/http"
	"time"
)

// A pieces sends an answer of HTTP in pieces.
type pieces struct {
	w       http.ResponseWriter
	flush   *http.ResponseController
	client  context.Context // ends with the client
	closing <-chan struct{} // is closed with the server
}

// Wait implements site.Out. A time that has passed is no wait, but the client may be gone then, too.
func (p *pieces) Wait(until time.Time) error {
	left := time.Until(until)
	if left <= 0 {
		return p.client.Err()
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-p.client.Done():
		return p.client.Err()
	case <-p.closing:
		return net.ErrClosed
	}
}

// Send implements site.Out.
func (p *pieces) Send(piece []byte) error {
	if len(piece) > 0 {
		if _, err := p.w.Write(piece); err != nil {
			return err
		}
	}
	return p.flush.Flush()
}
