package record

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unique"
)

// fail adds n failed requests of a class. Classes beyond the limit are pooled in OtherClass.
func (p *Point) fail(class string, n int64) {
	if p.Errors == nil {
		p.Errors = make(map[string]int64)
	}
	if _, known := p.Errors[class]; !known {
		class = pooledClass(class, p.Errors)
	}
	p.Errors[class] += n
}

// Classes returns Failed by class, nil if there are none. Failures counted by an older program have no class and are
// OtherClass.
func (p *Point) Classes() map[string]int64 {
	rest := p.Failed
	for _, n := range p.Errors {
		rest -= n
	}
	if rest <= 0 {
		return p.Errors
	}
	c := p.clone()
	c.fail(OtherClass, rest)
	return c.Errors
}

// classes returns the failed requests of s by class; nil if there are none, or if they add up to more than Failed.
func (s *Snapshot) classes() map[string]int64 {
	all := make(map[string]int64, len(s.Errors))
	rest := s.Counts.Failed
	for class, e := range s.Errors {
		if e.Count > 0 {
			all[class] = e.Count
			rest -= e.Count
		}
	}
	if len(all) == 0 || rest < 0 {
		return nil
	}
	return all
}

// classesText formats errors in the order of the classes: status=5;timeout=3. Names are escaped as in a URL's query.
func classesText(errors map[string]int64) string {
	var all []string
	for _, class := range slices.Sorted(maps.Keys(errors)) {
		all = append(all, fmt.Sprintf("%s=%d", url.QueryEscape(class), errors[class]))
	}
	return strings.Join(all, ";")
}

// parseClasses reads what classesText wrote; failed bounds the sum.
func parseClasses(text string, failed int64) (map[string]int64, error) {
	if text == "" {
		return nil, nil
	}
	n := strings.Count(text, ";") + 1
	if n > MaxClasses+1 {
		return nil, fmt.Errorf("%d error classes, more than %d", n, MaxClasses+1)
	}
	all, rest := make(map[string]int64, n), failed
	for entry := range strings.SplitSeq(text, ";") {
		escaped, count, _ := strings.Cut(entry, "=")
		class, err := url.QueryUnescape(escaped)
		if _, twice := all[class]; err != nil || twice || len(class) > maxClassBytes {
			return nil, fmt.Errorf("error class %.100q", escaped)
		}
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil || n < 1 || n > rest {
			return nil, fmt.Errorf("%.40q errors of class %.100q, of %d that failed", count, class, failed)
		}
		rest -= n
		all[unique.Make(class).Value()] = n // thousands of points share the same few names
	}
	return all, nil
}
