package pacer

import "slices"

// recallsSent is how many recalls a reply has at most.
const recallsSent = 4

// Known is what a worker knows of its run by the replies it got. A run whose state was lost is restored from it.
type Known struct {
	Law     Law     // the newest of which slots were leased; F = 0: none
	Recalls Recalls // the latest, oldest first. A change of the rate, a pause and a stop leave one each
	Paused  bool
	At      int64 // of the newest reply, µs of the Redis clock
	Stood   int64 // how long pauses took up to At, µs, or one of the Left constants
	Leased  int64 // slots leased to this incarnation
	Members int64 // of the run

	settled int64 // recalls up to this id are not missed in a server's replies
}

// forgotten tells whether a server that sends these recalls has forgotten the newest one known here: it was restarted, or is a
// replica that was promoted before it heard of it. A server sends its last recallsSent.
func (k *Known) forgotten(sent Recalls) bool {
	if len(k.Recalls) == 0 {
		return false
	}
	newest := k.Recalls[len(k.Recalls)-1]
	return newest.ID > k.settled && !slices.Contains(sent, newest) && (len(sent) < recallsSent || sent[0].ID < newest.ID)
}

// settle is for a server that was told what it had forgotten, or need not be.
func (k *Known) settle() {
	if n := len(k.Recalls); n > 0 {
		k.settled = k.Recalls[n-1].ID
	}
}

// highest is the highest id of a generation.
func (k *Known) highest() int64 {
	if n := len(k.Recalls); n > 0 {
		return max(k.Law.ID, k.Recalls[n-1].ID)
	}
	return k.Law.ID
}

// differs tells whether what a server grants after it forgot something is not what it was told before.
func (k *Known) differs(r Reply) bool {
	law := r.Range.Law
	return r.Range.N > 0 && (k.Paused || k.Stood < 0 && law.Rate(law.T0) != k.Law.Rate(law.T0))
}

// learn adds a reply. It returns true if that told of a new recall.
func (k *Known) learn(r Reply) (recalled bool) {
	merged := k.Recalls.Merge(r.Recalls)
	recalled = len(merged) > 0 && (len(k.Recalls) == 0 || merged[len(merged)-1] != k.Recalls[len(k.Recalls)-1])
	k.Recalls = merged
	k.Paused, k.At, k.Stood, k.Members = r.Status == StatusPaused, r.Now, r.Stood, r.Members
	if r.Range.N > 0 {
		k.Leased += r.Range.N
		if r.Range.Law.ID >= k.Law.ID {
			k.Law = r.Range.Law
		}
	}
	return recalled
}
