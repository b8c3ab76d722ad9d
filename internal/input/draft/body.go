package draft

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The types of bodies that a workload file has short forms for.
const (
	JSONType = "application/json"
	FormType = "application/x-www-form-urlencoded"
)

// deepest bounds the nesting of JSON that is written as YAML. A deeper one stays a text.
const deepest = 20

// jsonValue returns a JSON body as YAML. It is not ok if reading that would not give the same bytes: a workload file sends
// JSON without spaces.
func jsonValue(body []byte) (v *yaml.Node, ok bool) {
	var got bytes.Buffer
	if !json.Valid(body) {
		return v, false
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	v, ok = readJSON(d, &got, 0)
	return v, ok && bytes.Equal(got.Bytes(), body)
}

// plainNumber matches numbers that are the same in YAML.
var plainNumber = regexp.MustCompile(`^-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,15})?$`)

// readJSON reads a value, and appends what a workload file sends for it.
func readJSON(d *json.Decoder, out *bytes.Buffer, depth int) (v *yaml.Node, ok bool) {
	token, err := d.Token()
	if err != nil || depth > deepest {
		return v, false
	}
	switch token := token.(type) {
	case json.Delim:
		return readJSONList(d, out, depth, token == '{')
	case json.Number:
		out.WriteString(token.String())
		return plain(token.String()), plainNumber.MatchString(token.String())
	case string:
		out.Write(jsonText(token))
		return text(token), true
	default:
		word, _ := json.Marshal(token) // true, false or null
		out.Write(word)
		return plain(string(word)), true
	}
}

// readJSONList reads what follows the beginning of an array or an object.
func readJSONList(d *json.Decoder, out *bytes.Buffer, depth int, isMap bool) (v *yaml.Node, ok bool) {
	v, seen := list(), map[string]bool{}
	open, end := byte('['), byte(']')
	if isMap {
		v, open, end = mapping(), '{', '}'
	}
	out.WriteByte(open)
	for n := 0; d.More(); n++ {
		if n > 0 {
			out.WriteByte(',')
		}
		key := ""
		if isMap {
			token, _ := d.Token()
			key, ok = token.(string)
			if !ok || seen[key] || key == "<<" {
				return v, false
			}
			seen[key] = true
			out.Write(jsonText(key))
			out.WriteByte(':')
		}
		item, ok := readJSON(d, out, depth+1)
		switch {
		case !ok:
			return v, false
		case isMap:
			add(v, key, item)
		default:
			v.Content = append(v.Content, item)
		}
	}
	_, err := d.Token()
	out.WriteByte(end)
	return v, err == nil
}

// jsonText returns a text as JSON, as workload files have it.
func jsonText(s string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text always has a JSON form
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// placeholder matches a value that is one placeholder.
var placeholder = regexp.MustCompile(`^\$\{[A-Za-z0-9_.-]+\}$`)

// formValue returns the body of a form as YAML. It is not ok if reading that would not give the same bytes. A placeholder
// is escaped when it is filled.
func formValue(body string) (v *yaml.Node, ok bool) {
	v = mapping()
	seen := map[string]bool{"<<": true}
	var same []string
	for part := range strings.SplitSeq(body, "&") {
		name, escaped, found := strings.Cut(part, "=")
		key, err := url.QueryUnescape(name)
		content, err2 := url.QueryUnescape(escaped)
		if placeholder.MatchString(escaped) {
			content = escaped
		} else {
			content, escaped = Literal(content), url.QueryEscape(content)
		}
		if !found || err != nil || err2 != nil || seen[key] || !utf8.ValidString(key+content) || strings.Contains(key, "${") {
			return v, false
		}
		seen[key] = true
		same = append(same, url.QueryEscape(key)+"="+escaped)
		add(v, key, text(content))
	}
	return v, strings.Join(same, "&") == body
}
