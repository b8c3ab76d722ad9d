package worker

import "time"

// restStep is how far apart a closed loop's attempts are to replace requests that could not connect.
const restStep = int64(time.Millisecond)

// resting keeps a closed loop from flooding an endpoint that refuses connections: a refusal takes no time, and would be followed by the
// next at once. A request that ended without a byte written is not followed by another one until its turn has come, one each restStep;
// all others are, as always. So with part of the connections refused the rest goes on at full speed, with all of them an attempt is made
// each restStep, and when the endpoint is back n connections are used again after n such steps. The zero value holds nothing back.
type resting struct {
	n    int   // requests that could not connect and have not been replaced
	may  int   // requests that ended otherwise and have not been replaced; they may be
	next int64 // when one of n may be replaced, ns of the local clock
}

// ended notes that a request ended at now, and whether anything of it was written.
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

// turn lets one of those that rest be replaced, if it is time.
func (r *resting) turn(now int64) {
	if r.n > 0 && now >= r.next {
		r.n--
		r.may++
		r.next = now + restStep
	}
}

// most is how many requests may be sent now, of so many that there is room for.
func (r *resting) most(room int) int {
	if r.n > 0 {
		return min(r.may, room)
	}
	return room
}

// sent notes that so many requests were sent. Where nothing rests these were all that could be.
func (r *resting) sent(n int) {
	if r.may -= n; r.n == 0 {
		r.may = 0
	}
}
