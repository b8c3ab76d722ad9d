package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/report"
)

// sameLoad returns the flags that do not change what is sent: conditions to meet, workers to wait for, and supervision.
// The target is compared separately.
func sameLoad() []string {
	return []string{"--threshold", "--warmup", "--deadman", "--min-workers", "--url", "--method"}
}

// longer returns the flags that set the length of a run. Runs of different lengths are compared all the same.
func longer() []string { return []string{"--duration", "--requests"} }

// specified returns the differences between what two runs were told to send, as "what first, second". Unknown settings,
// as of a run of an older version, are no difference.
func specified(a, b report.Report) []string {
	var all []string
	if x, y := a.Described.Target(), b.Described.Target(); x != y && x != "" && y != "" {
		all = append(all, fmt.Sprintf("target %s, %s", x, y))
	}
	if x, y := differing(a, b, func(flag string) bool { return !slices.Contains(append(sameLoad(), longer()...), flag) }); x != y {
		all = append(all, fmt.Sprintf("flags %s, %s", x, y))
	}
	return all
}

// lengths returns the difference between the planned lengths of two runs; "" if there is none.
func lengths(a, b report.Report) string {
	if x, y := differing(a, b, func(flag string) bool { return slices.Contains(longer(), flag) }); x != y {
		return x + ", " + y
	}
	return ""
}

// differing returns the flags among some in which two runs differ, as each run has them.
func differing(a, b report.Report, some func(flag string) bool) (ofA, ofB string) {
	x, y := flags(a), flags(b)
	if len(x) == 0 || len(y) == 0 { // unknown, because every run has a rate
		return "", ""
	}
	var left, right []string
	for _, name := range slices.Sorted(maps.Keys(join(x, y))) {
		if some(name) && !slices.Equal(x[name], y[name]) {
			left, right = append(left, x[name]...), append(right, y[name]...)
		}
	}
	return listed(left), listed(right)
}

// flags returns the flags of a run with their values, by name and in order, as on a command line.
func flags(r report.Report) map[string][]string {
	all, name := map[string][]string{}, ""
	for _, word := range r.Described.Flags {
		if strings.HasPrefix(word, "--") {
			name, _, _ = strings.Cut(word, "=")
			all[name] = append(all[name], word)
		} else if n := len(all[name]); n > 0 {
			all[name][n-1] += " " + report.Quoted(word)
		}
	}
	return all
}

// join returns a map with the names of both.
func join(x, y map[string][]string) map[string][]string {
	all := maps.Clone(x)
	maps.Copy(all, y)
	return all
}

// listed lists flags for people.
func listed(flags []string) string {
	if len(flags) == 0 {
		return "(none)"
	}
	return strings.Join(flags, " ")
}
