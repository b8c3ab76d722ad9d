package lease

// Call is a renewal.
type Call struct {
	Worker, Incarnation string
	Seq                 int64
	Epoch               string // of the last reply; "" = none was received
	Weight              int64
	Known               int64  // the newest law of all replies
	Laws                []Law  // learnt elsewhere since the last reply; with a Claim all of them
	Version             int64  // of the list in the last reply; 0 = send the list
	Releases            Ranges // ranges that the worker has given up, each from a slot on
	Claim               *Claim
	Leaving             Leaving
}

// Leaving says how far a worker is with its leaving.
type Leaving int64

// The steps of leaving.
const (
	Stays  Leaving = iota
	Leaves         // it hands over what it holds, and sends until then; it obeys commands like any other worker
	Halted         // it sends nothing any more, and leaves with this call
)

// Claim informs a server that may have forgotten it: what the worker holds, and until when.
type Claim struct {
	Held       Ranges
	P          int64
	ClockEpoch int64
}

// Status is the outcome of a call.
type Status string

// The outcomes of a call.
const (
	OK        Status = "OK"
	MustClaim Status = "CLAIM"    // this is another server than before: call again with a claim
	Stale     Status = "STALE"    // a late copy of an old call
	Replaced  Status = "REPLACED" // another process has this worker's name
	Gone      Status = "GONE"     // the worker has left
	NoState   Status = "NOSTATE"  // the server has no such run
)

// Reply is the answer to a Call.
type Reply struct {
	Status     Status
	Seq        int64
	Epoch      string // the server's identity
	ClockEpoch int64
	Now, P     int64 // µs; all in List is leased until P
	Members    int64
	Wait       int64  // until the next call, µs
	Version    int64  // 1, 2, … of List: changes when List does
	List       Ranges // all that the worker holds; nil if its Version is the call's
	Give       Ranges // what of it to give up
	Laws       []Law  // newer than Known
}
