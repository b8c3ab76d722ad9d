package draft

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/targets"
)

// A filler returns the placeholder that a workload has in place of a value of a request. The name is that of the
// parameter or the field that has the value; "" = it has none. It is not ok if the value stays as it is.
type filler func(name, value string) (placeholder string, ok bool)

// fill fills the places of a step: the parts of the path, the values of the query, the last words of headers, and the
// values of a form or of JSON.
func (s *Step) fill(with filler) {
	s.URL = fillURL(s.URL, with)
	typed := ""
	for i, h := range s.Headers {
		if strings.EqualFold(h.Name, "Content-Type") {
			typed = strings.ToLower(h.Value)
		}
		last := strings.LastIndexByte(h.Value, ' ') + 1 // behind a scheme such as Bearer
		if placeholder, ok := with("", h.Value[last:]); ok {
			s.Headers[i] = targets.Header{Name: h.Name, Value: h.Value[:last] + placeholder}
		}
	}
	switch {
	case strings.HasPrefix(typed, FormType):
		s.Body = []byte(fillPairs(string(s.Body), with))
	case strings.Contains(typed, "json"):
		s.Body = fillJSON(s.Body, with)
	}
}

// fillURL fills a path and a query.
func fillURL(raw string, with filler) string {
	begin := Origin(raw)
	rest, fragment, _ := strings.Cut(raw[len(begin):], "#")
	path, query, asked := strings.Cut(rest, "?")
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = filled(parts[i], url.PathUnescape, "", with)
	}
	all := begin + strings.Join(parts, "/")
	if asked {
		all += "?" + fillPairs(query, with)
	}
	if fragment != "" {
		all += "#" + fragment
	}
	return all
}

// fillPairs fills a query or a form.
func fillPairs(text string, with filler) string {
	parts := strings.Split(text, "&")
	for i, part := range parts {
		key, value, _ := strings.Cut(part, "=")
		if name, err := url.QueryUnescape(key); err == nil && value != "" {
			parts[i] = key + "=" + filled(value, url.QueryUnescape, name, with)
		}
	}
	return strings.Join(parts, "&")
}

// filled returns an escaped value, or its placeholder.
func filled(raw string, unescape func(string) (string, error), name string, with filler) string {
	if value, err := unescape(raw); err == nil && value != "" {
		if placeholder, ok := with(name, value); ok {
			return placeholder
		}
	}
	return raw
}

// fillJSON fills the strings of JSON.
func fillJSON(body []byte, with filler) []byte {
	var out []byte
	done := 0
	EachString(body, func(p JSONPath, from, to int, value string) {
		if placeholder, ok := with(p.Name(), value); ok && value != "" {
			out = append(append(out, body[done:from]...), `"`+placeholder+`"`...)
			done = to
		}
	})
	return append(out, body[done:]...)
}

// A JSONPath is where a value stands in JSON: a level for each object and array around it.
type JSONPath []jsonLevel

// A jsonLevel is a place in an object or an array.
type jsonLevel struct {
	isMap, named bool
	key          string // of an object, if named
	index        int
}

// EachString calls see with each string of JSON that is no key: where it stands in the JSON, and from where to where in the
// text, its quotes included. The path counts only during the call.
func EachString(text []byte, see func(p JSONPath, from, to int, value string)) {
	if !json.Valid(text) {
		return
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var p JSONPath
	to := 0
	for {
		token, err := d.Token()
		if err != nil {
			return // the end
		}
		from := to
		to = int(d.InputOffset())
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				p = append(p, jsonLevel{isMap: token == '{'})
				continue
			}
			p = p[:len(p)-1]
		case string:
			if n := len(p) - 1; n >= 0 && p[n].isMap && !p[n].named {
				p[n].key, p[n].named = token, true
				continue
			}
			see(p, from+bytes.IndexByte(text[from:to], '"'), to, token)
		}
		if n := len(p) - 1; n >= 0 {
			p[n].named = false
			p[n].index++
		}
	}
}

// Name returns the innermost key.
func (p JSONPath) Name() string {
	for _, level := range slices.Backward(p) {
		if level.isMap {
			return level.key
		}
	}
	return ""
}

// escapedInPath matches what a path of gjson has to escape.
var escapedInPath = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// Take returns the path as a take has it.
func (p JSONPath) Take() string {
	var parts []string
	for _, level := range p {
		if level.isMap {
			parts = append(parts, escapedInPath.ReplaceAllString(level.key, `\$0`))
		} else {
			parts = append(parts, strconv.Itoa(level.index))
		}
	}
	return strings.Join(parts, ".")
}
