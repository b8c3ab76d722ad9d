package lease

// An Ending is a piece that was given up: the first slot that the worker does not send any more, and the promise it
// is under.
type Ending struct {
	Seg
	End  Pos
	P    int64 // µs
	id   int   // 1, 2, …
	at   int64 // when End is due, µs
	sent bool  // a server may know of it
	view int   // the first View that has it
}

// View is what the shards of a worker go by. It is never changed after it is handed out.
type View struct {
	Version int // 1, 2, …
	Era     int64
	Laws    *Laws
	Held    Segs
	P       int64 // Held is promised until P, µs
	Ending  []Ending
}
