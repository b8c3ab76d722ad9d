package samples

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"
)

// How many of each kind are kept.
const (
	firsts     = 3  // of a class of failures and step
	randoms    = 5  // the same, and good ones of a step
	slowest    = 10 // of a step
	mostTraced = 3  // of a step, the slowest
)

// A group is what samples are compared in.
type group struct{ why, step, class string }

// key decides which samples chance keeps: those with the smallest keys. Ordinals are unique in a run, but for a closed
// loop: there each worker counts its own. salt differs from worker to worker there, and is 0 else.
func key(ordinal, salt uint64) uint64 {
	x := ordinal ^ salt // splitmix64 (Steele, Lea and Flood 2014)
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// salt returns that of a worker's closed loop.
func salt(worker string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(worker)) // cannot fail
	return h.Sum64()
}

// ranked is a sample with its best rank: 0 is the most valuable of its group.
type ranked struct {
	Sample
	rank int
}

// choose returns those of all that are kept, each once, the most valuable first. Why is set anew.
func choose(all []Sample, closed bool) []ranked {
	groups := map[group][]int{}
	for i := range all {
		s := &all[i]
		s.Why = nil
		groups[group{Slow, s.Step, ""}] = append(groups[group{Slow, s.Step, ""}], i)
		if s.Traced {
			groups[group{Traced, s.Step, ""}] = append(groups[group{Traced, s.Step, ""}], i)
		}
		if s.Class == "" {
			groups[group{Good, s.Step, ""}] = append(groups[group{Good, s.Step, ""}], i)
			continue
		}
		groups[group{First, s.Step, s.Class}] = append(groups[group{First, s.Step, s.Class}], i)
		groups[group{Random, s.Step, s.Class}] = append(groups[group{Random, s.Step, s.Class}], i)
	}
	ranks := make([]int, len(all))
	for i := range ranks {
		ranks[i] = len(all)
	}
	for g, members := range groups {
		slices.SortFunc(members, func(a, b int) int { return compare(g.why, &all[a], &all[b], closed) })
		for rank, i := range members[:min(len(members), most(g.why))] {
			all[i].Why = append(all[i].Why, g.why)
			ranks[i] = min(ranks[i], rank)
		}
	}
	var kept []ranked
	for i, s := range all {
		if len(s.Why) > 0 {
			slices.Sort(s.Why)
			kept = append(kept, ranked{s, ranks[i]})
		}
	}
	slices.SortFunc(kept, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), compareBool(b.Class != "", a.Class != ""), identity(&a.Sample, &b.Sample))
	})
	return kept
}

// most returns how many of a group are kept.
func most(why string) int {
	switch why {
	case First:
		return firsts
	case Slow:
		return slowest
	case Traced:
		return mostTraced
	}
	return randoms
}

// compare orders the members of a group, the most valuable first.
func compare(why string, a, b *Sample, closed bool) int {
	switch why {
	case First:
		return cmp.Or(a.ended().Compare(b.ended()), identity(a, b))
	case Slow, Traced:
		return cmp.Or(cmp.Compare(b.Latency, a.Latency), identity(a, b))
	}
	return cmp.Or(cmp.Compare(a.key(closed), b.key(closed)), identity(a, b))
}

// key returns the key of a sample.
func (s *Sample) key(closed bool) uint64 {
	if closed {
		return key(s.Ordinal, salt(s.Worker))
	}
	return key(s.Ordinal, 0)
}

// ended returns when the request ended.
func (s *Sample) ended() time.Time { return s.Due.Add(time.Duration(s.Latency)) }

// identity orders samples that are alike otherwise.
func identity(a, b *Sample) int {
	return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Latency, b.Latency))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
