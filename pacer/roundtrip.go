package pacer

import "time"

// RoundTrip estimates how long a call takes, as RFC 6298 does for TCP: hi = srtt + 4·rttvar.
// Its zero value is ready. It is not safe for concurrent use.
type RoundTrip struct {
	srtt, rttvar int64 // ns
}

// Add counts one measured round trip (ns, > 0).
func (r *RoundTrip) Add(rtt int64) {
	if r.srtt == 0 {
		r.srtt, r.rttvar = rtt, rtt/2
		return
	}
	d := r.srtt - rtt
	r.rttvar += (max(d, -d) - r.rttvar) / 4
	r.srtt += (rtt - r.srtt) / 8
}

// Hi is a bound that few round trips exceed (ns); 10 ms before the first is known.
func (r *RoundTrip) Hi() int64 {
	if r.srtt == 0 {
		return int64(10 * time.Millisecond)
	}
	return r.srtt + 4*r.rttvar
}
