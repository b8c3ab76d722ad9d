package importer

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/internal/input/workload"
	"github.com/loadctl/loadctl/targets"
)

// Ranges of curl: [1-3], [001-100:10], [a-z].
var (
	numberRange = regexp.MustCompile(`^\[([0-9]{1,18})-([0-9]{1,18})(?::([0-9]{1,18}))?\]`)
	letterRange = regexp.MustCompile(`^\[([A-Za-z])-([A-Za-z])(?::([0-9]{1,18}))?\]`)
)

// globbed returns the URLs that a URL stands for, in curl's order: the last pattern changes first.
func globbed(raw string) ([]string, error) {
	all := []string{""}
	for rest := raw; rest != ""; {
		values, n, err := globPiece(rest)
		switch {
		case err != nil:
			return nil, err
		case len(all)*len(values) > targets.MaxFlows || len(all)*len(values)*len(raw) > workload.MostBytes:
			return nil, tooMany()
		}
		rest = rest[n:]
		longer := make([]string, 0, len(all)*len(values))
		for _, begin := range all {
			for _, v := range values {
				longer = append(longer, begin+v)
			}
		}
		all = longer
	}
	return all, nil
}

func tooMany() error {
	return fmt.Errorf("the URL stands for more than %d URLs, or for more than a workload file holds; write a smaller range, or ${random 1 100} in the workload", targets.MaxFlows)
}

// globPiece returns what the beginning of a URL stands for, and its length: a plain text, a range or a list.
func globPiece(rest string) (values []string, n int, err error) {
	plain := strings.IndexAny(rest, `\[]{}`)
	switch {
	case plain < 0:
		return []string{rest}, len(rest), nil
	case plain > 0:
		return []string{rest[:plain]}, plain, nil
	case rest[0] == '\\' && len(rest) > 1 && strings.IndexByte("[]{}", rest[1]) >= 0:
		return []string{rest[1:2]}, 2, nil
	case rest[0] == '\\':
		return []string{`\`}, 1, nil
	case rest[0] == '{':
		return globList(rest)
	case rest[0] == '[':
		return globRange(rest)
	}
	return nil, 0, noGlob()
}

func noGlob() error {
	return errors.New("the brackets or braces of the URL are no pattern of curl, such as [1-3] or {a,b}; give -g to send them as they are")
}

// globList reads {a,b}.
func globList(rest string) (values []string, n int, err error) {
	var b strings.Builder
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case strings.IndexByte("{[]", c) >= 0 || c == '}' && i == 1:
			return nil, 0, noGlob()
		case c == '}':
			return append(values, b.String()), i + 1, nil
		case c == ',':
			values = append(values, b.String())
			b.Reset()
		case c == '\\' && i+1 < len(rest):
			i++
			b.WriteByte(rest[i])
		default:
			b.WriteByte(c)
		}
	}
	return nil, 0, noGlob()
}

// globRange reads [1-3]. An IPv6 address and empty brackets are plain text.
func globRange(rest string) (values []string, n int, err error) {
	if end := strings.IndexByte(rest, ']'); end > 0 {
		_, notIP := netip.ParseAddr(rest[1:end])
		if notIP == nil || end == 1 {
			return []string{rest[:end+1]}, end + 1, nil
		}
	}
	var first, last uint64
	show := func(n uint64) string { return string(rune(n)) }
	found := letterRange.FindStringSubmatch(rest)
	if found != nil {
		first, last = uint64(found[1][0]), uint64(found[2][0])
	} else if found = numberRange.FindStringSubmatch(rest); found != nil {
		first, last = decimal(found[1]), decimal(found[2])
		width := 0
		if found[1][0] == '0' {
			width = len(found[1])
		}
		show = func(n uint64) string { return fmt.Sprintf("%0*d", width, n) }
	}
	if found == nil {
		return nil, 0, noGlob()
	}
	by := uint64(1)
	if found[3] != "" {
		by = decimal(found[3])
	}
	switch {
	case first > last || by == 0 || by > max(1, last-first) || letterRange.MatchString(rest) && last-first > 'z'-'a':
		return nil, 0, noGlob()
	case (last-first)/by >= targets.MaxFlows:
		return nil, 0, tooMany()
	}
	for n := first; n <= last; n += by {
		values = append(values, show(n))
	}
	return values, len(found[0]), nil
}

// decimal returns a number of at most 18 digits.
func decimal(digits string) uint64 {
	n, _ := strconv.ParseUint(digits, 10, 64) // they fit
	return n
}
