// Package seen reports whether a value came before, for millions of values in bounded memory.
//
//	keys := seen.New(seen.Most)
//	if keys.Add("order-17") {
//		// it came before
//	}
//	fmt.Println(keys.Values(), keys.Twice())
//
// It keeps a hash of 64 bits of each value, and nothing else. Among ten million values there are two with the same hash
// with a chance of 1 to 370,000. Then the later one counts as seen, though it was not. Each Set has a hash of its own, so
// nobody can choose values that meet.
package seen

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// Most is a usual limit of a Set. So many values take 134 MB.
const Most = 10_000_000

// shards is how many parts a Set has, each with its own lock. So growth stops one part at a time, for less than 1 ms.
const shards = 256

// A Set holds values that were added. New makes one. All methods are safe for concurrent use.
type Set struct {
	most   int64
	seed   maphash.Seed
	shards [shards]shard

	values, twice, missed atomic.Int64
}

// New returns an empty set that holds at most so many values, 1 or more.
func New(most int64) *Set { return &Set{most: most, seed: maphash.MakeSeed()} }

// Add adds a value, and reports whether it was there already. A full set adds none, and answers false for a value that
// it does not have.
func (s *Set) Add(value string) bool {
	hash := maphash.String(s.seed, value)
	return s.shards[hash%shards].add(s, hash)
}

// Has reports whether a value was added. It changes nothing.
func (s *Set) Has(value string) bool {
	hash := maphash.String(s.seed, value)
	return s.shards[hash%shards].has(hash)
}

// Values returns how many different values were added.
func (s *Set) Values() int64 { return s.values.Load() }

// Twice returns how many of the values were added two times or more.
func (s *Set) Twice() int64 { return s.twice.Load() }

// Missed returns how many calls of Add came with a value that a full set could not take.
func (s *Set) Missed() int64 { return s.missed.Load() }

// again is the bit of a slot that says that its value was added more than once.
const again = 1

// A shard is a hash table with open addressing: a slot is 0 if it is free, or else a hash whose lowest bit is again.
// That bit is free because it is part of the shard's number, which all hashes of a shard have in common.
type shard struct {
	mu    sync.Mutex
	slots []uint64 // their number is a power of two
	used  int
}

// firstSlots is the first number of slots of a shard.
const firstSlots = 16

// add adds a hash of the set, and reports whether it was there.
func (p *shard) add(s *Set, hash uint64) bool {
	key := keyOf(hash)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.slots) == 0 {
		p.slots = make([]uint64, firstSlots)
	}
	slot := p.find(key)
	switch {
	case *slot == key:
		*slot |= again
		s.twice.Add(1)
		return true
	case *slot != 0:
		return true // known to have come twice
	case s.values.Add(1) > s.most:
		s.values.Add(-1)
		s.missed.Add(1)
		return false
	}
	*slot = key
	if p.used++; 3*p.used > 2*len(p.slots) {
		p.grow()
	}
	return false
}

func (p *shard) has(hash uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.slots) > 0 && *p.find(keyOf(hash)) != 0
}

// keyOf returns what stands in the slot of a hash: never 0, and without the bit again.
func keyOf(hash uint64) uint64 {
	if key := hash &^ again; key != 0 {
		return key
	}
	return 1 << 63
}

// find returns the slot of a key: with the key, or the free one where it belongs. A third of the slots is free.
func (p *shard) find(key uint64) *uint64 {
	mask := uint64(len(p.slots) - 1)
	for i := key / shards & mask; ; i = (i + 1) & mask {
		if slot := &p.slots[i]; *slot == 0 || *slot&^again == key {
			return slot
		}
	}
}

// grow doubles the number of slots.
func (p *shard) grow() {
	old := p.slots
	p.slots = make([]uint64, 2*len(old))
	for _, slot := range old {
		if slot != 0 {
			*p.find(slot &^ again) = slot
		}
	}
}
