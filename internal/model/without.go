package model

// Without switches rules of the server off, to show that each is needed.
type Without struct {
	Quarantine bool // a new server gives at once what nobody has claimed
	Age        bool // claims are believed however old their promise is
	Seq        bool // late copies of calls are carried out
	Stored     bool // a new server believes what it has stored
	Reclaim    bool // what a late copy of a claim said stays believed
	Owned      bool // a claim takes units of which somebody else has spoken
	Promise    bool // an expired piece is free before its promise ends
	NewEra     bool // a clock that goes back begins no new era
}
