package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	statuses "github.com/loadctl/loadctl/targets/status"
)

// errForm says that a check is not written as its usage says.
var errForm = errors.New("it is not complete or not right")

// status is met by some statuses.
func status(rest string) (test, error) {
	var ranges [][2]int
	for part := range strings.SplitSeq(rest, ",") {
		if n, known := statuses.Named(strings.TrimSpace(part)); known {
			ranges = append(ranges, [2]int{n, n})
			continue
		}
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		low, err1 := strconv.Atoi(from)
		high, err2 := low, error(nil)
		if isRange {
			high, err2 = strconv.Atoi(to)
		}
		if err1 != nil || err2 != nil || low < 100 || high > 999 || high < low {
			return nil, errors.New("statuses are numbers from 100 to 999, or names of gRPC such as OK")
		}
		ranges = append(ranges, [2]int{low, high})
	}
	return func(a Answer, _ time.Duration) bool {
		s := a.Status()
		for _, r := range ranges {
			if r[0] <= s && s <= r[1] {
				return true
			}
		}
		return false
	}, nil
}

// body is met by a text in the body.
func body(rest string) (test, error) {
	word, rest, _ := strings.Cut(rest, " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "has":
		text := []byte(unquoted(rest))
		if len(text) == 0 || text[0] == '"' && len(rest) == len(text) {
			return nil, errForm // nothing, or a quote without an end
		}
		return func(a Answer, _ time.Duration) bool { return bytes.Contains(a.Content(), text) }, nil
	case "matches":
		if len(rest) < 3 || rest[0] != '/' || rest[len(rest)-1] != '/' {
			return nil, errForm
		}
		pattern, err := regexp.Compile(rest[1 : len(rest)-1])
		if err != nil {
			return nil, err
		}
		return func(a Answer, _ time.Duration) bool { return pattern.Match(a.Content()) }, nil
	}
	return nil, errForm
}

// modifier finds a modifier in a path of gjson. Some take quadratic time, or recurse as deep as the body.
var modifier = regexp.MustCompile(`(^|[^\\])@`)

// index finds an index in brackets, as other languages for paths have it.
var index = regexp.MustCompile(`\w\[\d`)

// jsonValue is met by a value in a JSON body, as its text or as it is written. The path is that of gjson. A body that is
// no JSON, or was not kept whole, has no values.
func jsonValue(rest string) (test, error) {
	path, value, found := strings.Cut(rest, " = ")
	path, value = strings.TrimSpace(path), unquoted(strings.TrimSpace(value))
	if !found || path == "" || modifier.MatchString(path) {
		return nil, errForm
	}
	if path[0] == '$' || index.MatchString(path) {
		return nil, errors.New("a path is written without $ and brackets, as in items.0.id")
	}
	return func(a Answer, _ time.Duration) bool {
		if !json.Valid(a.Content()) { // it refuses what is nested deeper than 10,000
			return false
		}
		r := gjson.GetBytes(a.Content(), path)
		return r.Exists() && (r.String() == value || r.Raw == value)
	}, nil
}

// token matches the name of a header (RFC 9110, 5.6.2).
var token = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// header is met by the value of a header.
func header(rest string) (test, error) {
	name, value, found := strings.Cut(rest, " = ")
	name, value = strings.TrimSpace(name), unquoted(strings.TrimSpace(value))
	if !found || !token.MatchString(name) {
		return nil, errForm
	}
	return func(a Answer, _ time.Duration) bool {
		return slices.Contains(a.Field(name), value)
	}, nil
}

// size is met by the length of the body.
func size(rest string) (test, error) {
	text, less := strings.CutPrefix(rest, "<")
	if !less {
		more := false
		if text, more = strings.CutPrefix(rest, ">"); !more {
			return nil, errForm
		}
	}
	limit, err := ParseSize(strings.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	if less {
		return func(a Answer, _ time.Duration) bool { return a.Length() < limit }, nil
	}
	return func(a Answer, _ time.Duration) bool { return a.Length() > limit }, nil
}

// ParseSize reads a number of bytes, such as 10kB.
func ParseSize(text string) (int64, error) {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"kB", 1000}, {"MB", 1_000_000}, {"B", 1}} {
		number, found := strings.CutSuffix(text, unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 40)
		if err != nil || n < 0 {
			break
		}
		return n * unit.bytes, nil
	}
	return 0, errors.New("a size is a whole number with B, kB, MB, KiB or MiB")
}

// duration is met by a short time.
func duration(rest string) (test, error) {
	text, less := strings.CutPrefix(rest, "<")
	if !less {
		return nil, errForm
	}
	limit, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || limit <= 0 {
		return nil, errors.New("a time is a number with ms or s")
	}
	return func(_ Answer, took time.Duration) bool { return took < limit }, nil
}

// unquoted removes quotes around a text, and what they escape; without them the text is as it stands.
func unquoted(text string) string {
	if plain, err := strconv.Unquote(text); err == nil && strings.HasPrefix(text, `"`) {
		return plain
	}
	return text
}
