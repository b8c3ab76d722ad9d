package pacer

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads a duration of at least 0 in Go's syntax. It may begin with days, as in 2d or 1d12h. Flags,
// rates, stages and profiles all use it.
func ParseDuration(s string) (time.Duration, error) {
	bad := fmt.Errorf("%.40q is not a duration; write 30s, 5m, 1h30m or 2d", s)
	var days time.Duration
	rest := s
	if count, after, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(count, 10, 32)
		if err != nil || n > math.MaxInt64/uint64(24*time.Hour)/2 {
			return 0, bad
		}
		days, rest = time.Duration(n)*24*time.Hour, after
		if rest == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || days+d < 0 {
		return 0, bad
	}
	return days + d, nil
}
