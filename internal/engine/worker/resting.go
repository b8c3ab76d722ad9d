package worker

import "time"

// restStep is the time between two attempts of a closed loop to replace requests that could not connect.
const restStep = int64(time.Millisecond)

// resting keeps a closed loop from flooding an endpoint that refuses connections: a refusal takes no time, and the
// next attempt would follow at once.
//
// After a request that ended before a byte was written, the next one waits for its turn, one each restStep. All
// others are replaced at once. So if some connections are refused, the others go on at full speed. If all are
// refused, there is one attempt each restStep. When the endpoint is back, n connections are in use after n steps. The
// zero value holds nothing back.
type resting struct {
	n    int   // requests that could not connect and are not replaced yet
	may  int   // requests that ended otherwise and may be replaced
	next int64 // when one of n may be replaced, ns of the local clock
}

// ended notes that a request ended at now, and whether any byte of it was written.
func (r *resting) ended(now int64, written bool) {
	if written {
		r.may++
		return
	}
	if r.n == 0 {
		r.next = now + restStep
	}
	r.n++
}

// turn lets one request that rests be replaced, if it is time.
func (r *resting) turn(now int64) {
	if r.n > 0 && now >= r.next {
		r.n--
		r.may++
		r.next = now + restStep
	}
}

// most returns how many requests may be sent now, if there is room for `room`.
func (r *resting) most(room int) int {
	if r.n > 0 {
		return min(r.may, room)
	}
	return room
}

// sent notes that n requests were sent. If nothing rests, no more could be sent.
func (r *resting) sent(n int) {
	if r.may -= n; r.n == 0 {
		r.may = 0
	}
}
