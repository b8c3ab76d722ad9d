package importer

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/internal/input/draft"
)

// A pattern is what requests of a log have in common: the method, and the path with its ids left out.
//
//	GET /users/17/orders/0f8fad5b-d9cb-469f-a165-70867728950e   ->   GET /users/#/orders/*
type pattern struct {
	method  string
	parts   []part
	query   string // of the first request, with its question mark
	count   int64
	order   int    // of patterns by their first lines
	encoded string // the key
}

// A part is what stands between two slashes of a path.
type part struct {
	text     string // as in the first request
	kind     byte   // # = number, * = another id, 0 = neither
	min, max int64  // of a number
}

// Ids in paths: numbers, UUIDs, and hexadecimal texts with a digit.
var (
	isNumber = regexp.MustCompile(`^(?:0|[1-9][0-9]{0,14})$`)
	isDigits = regexp.MustCompile(`^[0-9]+$`)
	isUUID   = regexp.MustCompile(`^[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$`)
	isHex    = regexp.MustCompile(`^[0-9A-Fa-f]{12,}$`)
)

// newPattern returns the pattern of one request.
func newPattern(method, target string) *pattern {
	path, query, asks := strings.Cut(target, "?")
	p := &pattern{method: method, count: 1}
	if asks {
		p.query = "?" + query
	}
	var key strings.Builder
	key.WriteString(method)
	for text := range strings.SplitSeq(path[1:], "/") {
		one := part{text: text}
		switch {
		case isNumber.MatchString(text):
			one.kind = '#'
			one.min, _ = strconv.ParseInt(text, 10, 64)
			one.max = one.min
			key.WriteString("/#")
		case isUUID.MatchString(text), isDigits.MatchString(text), isHex.MatchString(text) && strings.ContainsAny(text, "0123456789"):
			one.kind = '*'
			key.WriteString("/*")
		default:
			key.WriteString("/=" + text)
		}
		p.parts = append(p.parts, one)
	}
	p.encoded = key.String()
	return p
}

// key is the same for requests of one pattern, and for no others.
func (p *pattern) key() string { return p.encoded }

// add counts another request of the pattern.
func (p *pattern) add(o *pattern) {
	p.count += o.count
	for i := range p.parts {
		p.parts[i].min, p.parts[i].max = min(p.parts[i].min, o.parts[i].min), max(p.parts[i].max, o.parts[i].max)
	}
}

// example is the first request, as it was.
func (p *pattern) example() string {
	var b strings.Builder
	for _, one := range p.parts {
		b.WriteString("/" + one.text)
	}
	return b.String() + p.query
}

// path is that of a workload file: numbers are placeholders, other ids are those of the first request.
func (p *pattern) path() string {
	var b strings.Builder
	for _, one := range p.parts {
		if one.kind == '#' && one.min < one.max {
			fmt.Fprintf(&b, "/${random %d %d}", one.min, one.max)
		} else {
			b.WriteString("/" + draft.Literal(one.text))
		}
	}
	return b.String() + draft.Literal(p.query)
}

// shown is the path with a star for each id.
func (p *pattern) shown() string {
	var b strings.Builder
	for _, one := range p.parts {
		if one.kind != 0 {
			b.WriteString("/*")
		} else {
			b.WriteString("/" + one.text)
		}
	}
	return b.String()
}
