package runflags

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// maxCount is the largest number of requests that a limiter counts.
const maxCount = 1_000_000_000

// Count is a flag value: a number of requests from 1, written as a rate, such as 20 or 2.5k. 0 = the flag was not
// given.
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
	n, ok := number(s)
	if !ok || n < 1 || n > maxCount {
		return 0, fmt.Errorf("%.40q is no number of requests; write 1 to %d, such as 20 or 2.5k", s, maxCount)
	}
	return n, nil
}

// total is a flag value: the number of requests of a whole run, such as 20 or 1.5k; 0 = no limit.
type total int64

// String implements pflag.Value.
func (n *total) String() string { return strconv.FormatInt(int64(*n), 10) }

// Type implements pflag.Value.
func (n *total) Type() string { return "count" }

// Set implements pflag.Value. The bounds are checked with the rest of the run.
func (n *total) Set(s string) error {
	v, ok := number(s)
	if !ok {
		return errors.New("give the number of requests of the whole cluster; 0 means no limit; write 1500, 1.5k or 2M")
	}
	*n = total(v)
	return nil
}

// longestNumber is how many digits a number may have. A longer number is too large, and reading it would take time.
const longestNumber = 24

// number reads a whole number that may be written with k or M, as a rate: 20, 2.5k, 1M.
func number(s string) (int64, bool) {
	digits, scale := s, int64(1)
	switch {
	case strings.HasSuffix(s, "k"):
		digits, scale = s[:len(s)-1], 1_000
	case strings.HasSuffix(s, "M"):
		digits, scale = s[:len(s)-1], 1_000_000
	}
	if len(digits) > longestNumber || strings.Trim(digits, "0123456789.") != "" {
		return 0, false
	}
	r, ok := new(big.Rat).SetString(digits)
	if !ok || !r.Mul(r, big.NewRat(scale, 1)).IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}
