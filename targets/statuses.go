package targets

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/targets/status"
)

// A statusRange holds the statuses from first to last, both included.
type statusRange struct{ first, last int }

// statuses is a set of statuses, as the user lists it.
type statuses []statusRange

// contain reports whether status is in the set.
func (s statuses) contain(status int) bool {
	for _, r := range s {
		if r.first <= status && status <= r.last {
			return true
		}
	}
	return false
}

// parseStatuses parses "200,204,300-399"; "" means DefaultExpect. Order and
// overlaps do not matter.
func parseStatuses(list string) (statuses, error) {
	var set statuses
	for item := range strings.SplitSeq(cmp.Or(list, DefaultExpect), ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(item), "-")
		if !isRange {
			last = first
		}
		a, okA := parseStatus(first)
		b, okB := parseStatus(last)
		if !okA || !okB || a > b {
			return nil, fmt.Errorf("expect: %q is not a status or range of statuses; write 200,204,300-399", item)
		}
		set = append(set, statusRange{a, b})
	}
	return set, nil
}

// parseCodes parses the names of statuses of gRPC: "OK,NOT_FOUND"; "" means OK.
func parseCodes(list string) (set statuses, err error) {
	for item := range strings.SplitSeq(cmp.Or(list, DefaultExpectGRPC), ",") {
		n, known := status.Named(strings.TrimSpace(item))
		if !known {
			return nil, fmt.Errorf("expect: %.40q is not a status of gRPC; write one of %s", item, strings.Join(status.Names(), ", "))
		}
		set = append(set, statusRange{n, n})
	}
	return set, nil
}

// parseStatus parses one status, 100 to 999. It refuses signs and extra digits, which strconv would accept, as typing
// errors.
func parseStatus(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && len(s) == 3 && n >= 100
}
