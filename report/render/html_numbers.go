package render

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"

	"github.com/loadctl/loadctl/report/units"
)

// An htmlNumber is a number of the page: its path and value in the JSON report, and its text for people.
type htmlNumber struct{ Path, Value, Text string }

// htmlCount formats a number of requests.
func htmlCount(path string, n int64) htmlNumber {
	value := strconv.FormatInt(n, 10)
	return htmlNumber{path, value, units.Groups(value)}
}

// htmlTime formats a number of nanoseconds.
func htmlTime(path string, ns int64) htmlNumber {
	return htmlNumber{path, strconv.FormatInt(ns, 10), spaced(units.Duration(ns))}
}

// htmlRate formats a number of requests per second.
func htmlRate(path string, v float64) htmlNumber {
	return htmlNumber{path, jsonNumber(v), units.Groups(units.Rate(v)) + "/s"}
}

// htmlShare formats a fraction of 1.
func htmlShare(path string, v float64) htmlNumber {
	return htmlNumber{path, jsonNumber(v), units.Percent(v) + "\u00a0%"}
}

// jsonNumber formats a number as in JSON.
func jsonNumber(v float64) string {
	text, err := json.Marshal(v)
	if err != nil { // not a number; no report has that
		return ""
	}
	return string(text)
}

// spaced puts a no-break space between a number and its unit.
func spaced(s string) string {
	if i := strings.IndexFunc(s, unicode.IsLetter); i > 0 {
		return s[:i] + "\u00a0" + s[i:]
	}
	return s
}
