package serve

import (
	"fmt"
	"strings"

	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/pacer"
)

// stalls are the values of --stall.
type stalls []arrivals.Stall

// String implements pflag.Value.
func (s *stalls) String() string {
	var all []string
	for _, stall := range *s {
		all = append(all, fmt.Sprintf("%v:%v", stall.At, stall.Length))
	}
	return strings.Join(all, ",")
}

// Type implements pflag.Value.
func (s *stalls) Type() string { return "stall" }

// Set implements pflag.Value. It adds a stall.
func (s *stalls) Set(text string) error {
	from, long, ok := strings.Cut(text, ":")
	at, err := pacer.ParseDuration(from)
	length, errLength := pacer.ParseDuration(long)
	if !ok || err != nil || errLength != nil || max(at, length) > longestWait {
		return fmt.Errorf("%.40q: write AT:LENGTH, such as 10s:2s, each at most 365d", text)
	}
	*s = append(*s, arrivals.Stall{At: at, Length: length})
	return nil
}
