package status

import (
	"fmt"
	"strconv"
	"strings"
)

// A Range holds the statuses from first to last, both included.
type Range struct{ First, Last int }

// Set is a set of statuses, as the user lists it.
type Set []Range

// Contains reports whether status is in the set.
func (s Set) Contains(status int) bool {
	for _, r := range s {
		if r.First <= status && status <= r.Last {
			return true
		}
	}
	return false
}

// Parse parses "200,204,300-399". Order and
// overlaps do not matter.
func Parse(list string) (Set, error) {
	var set Set
	for item := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(item), "-")
		if !isRange {
			last = first
		}
		a, okA := parseStatus(first)
		b, okB := parseStatus(last)
		if !okA || !okB || a > b {
			return nil, fmt.Errorf("expect: %q is not a status or range of statuses; write 200,204,300-399", item)
		}
		set = append(set, Range{a, b})
	}
	return set, nil
}

// ParseGRPC parses the names of statuses of gRPC: "OK,NOT_FOUND".
func ParseGRPC(list string) (set Set, err error) {
	for item := range strings.SplitSeq(list, ",") {
		n, known := Named(strings.TrimSpace(item))
		if !known {
			return nil, fmt.Errorf("expect: %.40q is not a status of gRPC; write one of %s", item, strings.Join(Names(), ", "))
		}
		set = append(set, Range{n, n})
	}
	return set, nil
}

// parseStatus parses one status, 100 to 999. It refuses signs and extra digits, which strconv would accept, as typing
// errors.
func parseStatus(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && len(s) == 3 && n >= 100
}
