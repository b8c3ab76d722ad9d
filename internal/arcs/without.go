package arcs

// Without switches rules of the protocol off, to show that each is needed.
type Without struct {
	Quarantine bool // a new server gives at once what nobody has claimed
	Age        bool // claims are believed however old their promise is
	Word       bool // a release made to a former server is believed before its receiver has spoken
	Names      bool // what was promised to one member is given to another
	Seq        bool // late copies of calls are carried out
	Stored     bool // a new server believes what it has stored
	Reclaim    bool // what a late copy of a claim said stays believed
	Owned      bool // a claim takes units of which somebody else has spoken
	Promise    bool // an expired piece is free before its promise ends
	ListP      bool // worker: a new promise covers what was given up as well
	Agree      bool // worker: it releases before its shards have taken that up
	Due        bool // worker: it sends beyond the promise
	Back       bool // worker: a shard takes what its last view admits for what it has decided
	Fixed      bool // worker: which shard sends a slot depends on the piece it is in
	Era        bool // worker: a promise covers all eras
	NewEra     bool // a clock that goes back begins no new era
	Ticket     bool // a word about a former stay of its receiver is believed
}
