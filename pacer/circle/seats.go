package circle

// seatG turns the places of seats. With it few workers have a seat more than their share, as a search has found.
const seatG = Units / 48 * 25

// Seats returns how many of the seats 0 … n−1 of a closed loop are in the range. Seat j is at the place
//
//	(r(j) + seatG) mod Units
//
// where r(j) is j mod Units with its 24 binary digits in reverse: 0, 1/2, 1/4, 3/4, 1/8, … of the circle. So n seats are spread
// evenly for any n, and a seat stays where it is when n changes.
func (a Range) Seats(n int64) int64 {
	lo := (a.Lo - seatG + Units) % Units
	hi := lo + a.N
	sum := seatsBelow(min(hi, Units), n) - seatsBelow(lo, n)
	if hi > Units {
		sum += seatsBelow(hi-Units, n)
	}
	return sum
}

// seatsBelow returns how many j < n have r(j) < x. In each period of Units numbers there are x. Of the rest, r(j) < x if the
// digits of r(j) equal those of x down to one that is 1 in x, and this digit is 0. Such j are equal modulo a power of two.
func seatsBelow(x, n int64) (sum int64) {
	sum, n = n/Units*x, n%Units
	if x == Units {
		return sum + n
	}
	same, step := int64(0), int64(1) // j mod step = same: so far the digits are equal
	for digit := int64(Units / 2); digit > 0; digit /= 2 {
		if x&digit != 0 {
			if n > same {
				sum += (n-same-1)/(2*step) + 1
			}
			same += step
		}
		step *= 2
	}
	return sum
}
