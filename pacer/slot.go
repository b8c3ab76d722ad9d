package pacer

// Slot is permission for one request.
type Slot struct {
	Generation, Number int64
	Due                int64 // ns of the Redis clock
}
