package lease

// An Ending is a piece that was given up: until which slot it is still this worker's, and under which promise.
type Ending struct {
	Seg
	End  Pos
	P    int64 // µs
	id   int   // 1, 2, …
	at   int64 // when End is due, µs
	sent bool  // a server may know of it
	view int   // the first View that has it
}

// View is what the shards of a worker go by. One that was handed out is never changed.
type View struct {
	Version int // 1, 2, …
	Era     int64
	Laws    *Laws
	Held    Segs
	P       int64 // until when Held is promised, µs
	Ending  []Ending
}
