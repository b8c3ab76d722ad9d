package model

// Without switches off rules of the server, to show that each is needed.
type Without struct {
	Quarantine    bool // a new server gives away at once what nobody has claimed
	Age           bool // claims are believed, however old their lease is
	Seq           bool // late copies of calls are carried out
	Stored        bool // a new server believes what it has stored
	Reclaim       bool // what a late copy of a claim said is still believed
	Owned         bool // a claim takes places that somebody else has claimed
	Lease         bool // an expired range is free before its lease ends
	NewClockEpoch bool // a clock that goes back begins no new clock epoch
	Past          bool // positions are looked for only in laws that may still be needed
	Command       bool // the newest law is taken for a command's, also if it follows from the plan
	Rights        bool // a lease may be longer than the rights of the run
}
