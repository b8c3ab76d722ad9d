package runflags

import (
	"fmt"
	"strconv"

	"github.com/loadctl/loadctl/targets/check"
)

// Size is a flag value: a number of bytes, such as 1000000 or 1MB. Its bounds are checked with the rest of the run.
type Size int64

// String implements pflag.Value.
func (n *Size) String() string { return strconv.FormatInt(int64(*n), 10) }

// Type implements pflag.Value.
func (n *Size) Type() string { return "size" }

// Set implements pflag.Value.
func (n *Size) Set(s string) error {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		v, err = check.ParseSize(s)
	}
	if err != nil {
		return fmt.Errorf("%.40q is no number of bytes; write 1000000, or a whole number with B, kB, MB, KiB or MiB, such as 1MB", s)
	}
	*n = Size(v)
	return nil
}
