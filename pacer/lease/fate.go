package lease

// Fate is what becomes of a slot when a worker looks at it.
type Fate int

// The fates of a slot.
const (
	Early Fate = iota // it is not due yet
	Due               // it is to be sent
	Late              // it is dropped: the worker came to it too late
)

// FateOf returns the fate of a slot that is due at an instant and looked at now, both ns of the same clock. catchUp is
// how late a slot may be when it is first seen, ns. Shards of workers and of simulations decide by it.
func FateOf(now, due, catchUp int64) Fate {
	switch {
	case due > now:
		return Early
	case now-due > catchUp:
		return Late
	}
	return Due
}
