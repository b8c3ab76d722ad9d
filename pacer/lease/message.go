package lease

// Call is a renewal.
type Call struct {
	Worker, Incarnation string
	Seq                 int64
	Epoch               string // of the last reply; "" = none was heard
	Weight              int64
	Known               int64 // the newest law of all replies
	Laws                []Law // what was learnt elsewhere since the last reply, or all with a Claim
	Version             int64 // of the list in the last reply; 0 = it is to be sent
	Releases            Segs  // what the worker has given up, each from a slot on
	Claim               *Claim
	Leaving             Leaving
}

// Leaving is how far a worker is with its leaving.
type Leaving int64

// What a call says of it.
const (
	Stays  Leaving = iota
	Leaves         // what it holds is to be handed over, and it sends until then
	Halted         // it sends nothing any more
)

// Claim is what a worker says to a server that may have forgotten: what it holds, and until when.
type Claim struct {
	Held Segs
	P    int64
	Era  int64
}

// Status is how a call went.
type Status string

// How a call goes.
const (
	OK        Status = "OK"
	MustClaim Status = "CLAIM"    // this server is another one than before: call again with a claim
	Stale     Status = "STALE"    // a late copy of an old call
	Replaced  Status = "REPLACED" // another process has this worker's name
	Gone      Status = "GONE"     // the worker has left
	NoState   Status = "NOSTATE"  // the server has no such run
)

// Reply is the answer to a Call.
type Reply struct {
	Status  Status
	Seq     int64
	Epoch   string // the server's identity
	Era     int64
	Now, P  int64 // µs; until when all in List is promised
	Members int64
	Wait    int64 // until the next call, µs
	Version int64 // 1, 2, … of List: changes when that does
	List    Segs  // all that the worker holds; left out where its Version is the call's
	Give    Segs  // what of it to give up
	Laws    []Law // newer than Known
}
