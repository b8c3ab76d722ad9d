package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/report"
)

// sameLoad are the flags that do not change what is sent: what the run has to meet, who has to be there, and who watches over it. The target is
// told apart by itself.
func sameLoad() []string {
	return []string{"--threshold", "--warmup", "--deadman", "--min-workers", "--url", "--method"}
}

// longer are the flags that say how long a run is. Seconds of a longer run are compared with those of a shorter one all the same.
func longer() []string { return []string{"--duration", "--requests"} }

// specified tells the differences between what two runs were told to send, "what first, second" each. What is not known of a run, as of one of an
// older version, is no difference.
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

// lengths is the difference between how long two runs were to be; "" if there is none.
func lengths(a, b report.Report) string {
	if x, y := differing(a, b, func(flag string) bool { return slices.Contains(longer(), flag) }); x != y {
		return x + ", " + y
	}
	return ""
}

// differing are those of some flags in which two runs differ, as each of them has them.
func differing(a, b report.Report, some func(flag string) bool) (ofA, ofB string) {
	x, y := flags(a), flags(b)
	if len(x) == 0 || len(y) == 0 { // not known: every run has a rate
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

// flags are those of a run with their values, as they stand in a command line, by their names and in their order.
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

// join has the names of both.
func join(x, y map[string][]string) map[string][]string {
	all := maps.Clone(x)
	maps.Copy(all, y)
	return all
}

// listed is a list of flags for people.
func listed(flags []string) string {
	if len(flags) == 0 {
		return "(none)"
	}
	return strings.Join(flags, " ")
}
