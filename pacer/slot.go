package pacer

// Slot is permission for one request.
type Slot struct {
	Law, Number int64
	Ordinal     int64 // its number in the run: numbers run on through all laws
	Due         int64 // ns of the Redis clock
}
