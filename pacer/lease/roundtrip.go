package lease

import "time"

// roundTrip estimates how long a call takes, as RFC 6298 does for TCP: the bound is srtt + 4·rttvar.
type roundTrip struct {
	srtt, rttvar int64 // ns
}

func (r *roundTrip) add(rtt int64) {
	if r.srtt == 0 {
		r.srtt, r.rttvar = rtt, rtt/2
		return
	}
	d := r.srtt - rtt
	r.rttvar += (max(d, -d) - r.rttvar) / 4
	r.srtt += (rtt - r.srtt) / 8
}

// timeout returns how long to wait for an answer at least.
func (r *roundTrip) timeout() time.Duration { return time.Duration(4 * (r.srtt + 4*r.rttvar)) }
