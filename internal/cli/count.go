package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/pacer"
)

// maxCount is the largest number of requests that a limiter counts.
const maxCount = 1_000_000_000

// Count is a flag value: a number of requests from 1, as a rate is written, such as 20 or 2.5k. 0 is a flag that was not given.
type Count int64

// String implements pflag.Value.
func (n *Count) String() string { return strconv.FormatInt(int64(*n), 10) }

// Type implements pflag.Value.
func (n *Count) Type() string { return "count" }

// Set implements pflag.Value.
func (n *Count) Set(s string) error {
	v, err := ParseCount(s)
	if err == nil {
		*n = Count(v)
	}
	return err
}

// ParseCount reads a number of requests, 1 to 10⁹: 20, 2.5k, 1M. An error says what to write.
func ParseCount(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil && !strings.Contains(s, "/") { // a rate may also be so many per time
		var r pacer.Rate
		if r, err = pacer.ParseRate(s); err == nil && r.Den == 1 {
			n = r.Num
		}
	}
	if n < 1 || n > maxCount {
		return 0, fmt.Errorf("%.40q is no number of requests; write 1 to %d, such as 20 or 2.5k", s, maxCount)
	}
	return n, nil
}
