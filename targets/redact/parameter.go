package redact

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// mostHead is how long a tag, or the head of a part, may be.
const mostHead = 1000

// parameters looks for names before an equals sign: of queries, forms, cookies, attributes and logs.
func (f *finder) parameters() {
	for i := 0; i < len(f.text); {
		equals := bytes.IndexByte(f.text[i:], '=')
		if equals < 0 {
			return
		}
		equals += i
		end, value := f.around(equals)
		from := end
		for from > i && (isNameByte(f.text[from-1]) || strings.IndexByte("[]%$:~", f.text[from-1]) >= 0) {
			from--
		}
		i = equals + 1
		if name := f.text[from:end]; from < end && !f.plain(from, min(value+1, len(f.text))) {
			i = f.parameter(name, value)
		}
	}
}

// around returns where the name before an equals sign ends, and where the value behind it begins. Spaces are between only
// if the value has quotes, as in programs: elsewhere they separate. An arrow is an equals sign too, as Ruby and PHP print it:
//
//	{"password"=>"x"}   ["password"]=> string(1) "x"   [password] => x
func (f *finder) around(equals int) (end, value int) {
	end, value = equals, equals+1
	if value < len(f.text) && f.text[value] == '>' {
		return f.aroundArrow(equals)
	}
	for end > 0 && f.text[end-1] == ' ' && equals-end < 4 {
		end--
	}
	for value < len(f.text) && f.text[value] == ' ' && value-equals < 4 {
		value++
	}
	if value < len(f.text) && (f.text[value] == '"' || f.text[value] == '\'') {
		return end, value
	}
	return equals, equals + 1
}

// aroundArrow is around for an arrow.
func (f *finder) aroundArrow(equals int) (end, value int) {
	end, value = equals, equals+len("=>")
	for end > 0 && strings.IndexByte(` "'`+"]", f.text[end-1]) >= 0 && equals-end < 8 {
		end--
	}
	for value < len(f.text) && isSpace(f.text[value]) {
		value++
	}
	if rest := f.text[value:min(value+20, len(f.text))]; bytes.HasPrefix(rest, []byte("string(")) { // of PHP, with its length
		if n := bytes.IndexByte(rest, '"'); n >= 0 {
			value += n
		}
	}
	return end, value
}

// parameter hides the value behind an equals sign if its name is that of a secret. It returns where to go on.
func (f *finder) parameter(name []byte, i int) int {
	if tag := f.text[i:]; len(tag) > 0 && tag[0] == '"' && (isNaming(name) || bytes.EqualFold(name, []byte("type")) && bytes.HasPrefix(tag, []byte(`"password"`))) {
		return f.named(i)
	}
	if !f.secret(name) && !f.grants(name, i) {
		return i
	}
	if i < len(f.text) && (f.text[i] == '"' || f.text[i] == '\'') && !f.d.form {
		end := endOfString(f.text, i)
		f.hide(name, i+1, end)
		return min(end+1, len(f.text))
	}
	end := i
	for end < len(f.text) && !f.endsValue(end) {
		end++
	}
	f.hide(name, i, end)
	if first, _, list := bytes.Cut(f.text[i:end], []byte(",")); list { // as in the header of a signature
		f.known.add(string(first), false)
	}
	return end
}

// grants reports whether a parameter of a URL or a form, whose value begins at i, lets its owner log in as one step of OAuth or
// SAML. Elsewhere a code is that of an error or a country, so its value has to be long.
func (f *finder) grants(name []byte, i int) bool {
	switch strings.ToLower(string(name[:min(len(name), longName)])) {
	case "code", "code_verifier", "assertion", "client_assertion", "samlresponse":
	default:
		return false
	}
	if begin := i - len("=") - len(name); begin > 0 && strings.IndexByte("?&#", f.text[begin-1]) < 0 {
		return false
	}
	end := i
	for end < len(f.text) && !f.endsValue(end) {
		end++
	}
	return end-i >= 16 && looksRandom(f.text[i:end])
}

// endsValue reports whether a value without quotes ends before i.
func (f *finder) endsValue(i int) bool {
	c := f.text[i]
	switch {
	case f.d.form && f.level == 0:
		return c == '&'
	case f.d.word == inURL:
		return c == '&' || c == '#' || isSpace(c)
	case c == '\\' && i+1 < len(f.text) && strings.IndexByte(`"'nrt`, f.text[i+1]) >= 0: // in a string of JSON
		return true
	case c == '\\': // Go writes & as \u0026
		if r, ok := unit(f.text[i:]); ok && r < utf8.RuneSelf {
			c = byte(r)
		}
	}
	return endsWord(c) && c != ',' && c != ')'
}

// isNaming reports whether an attribute has a name: <input name="csrf" value="…">.
func isNaming(name []byte) bool {
	return bytes.EqualFold(name, []byte("name")) || bytes.EqualFold(name, []byte("id")) || bytes.EqualFold(name, []byte("key"))
}

// named hides the value of a tag whose name is an attribute, which begins at i. It returns where to go on.
func (f *finder) named(i int) int {
	end := endOfString(f.text, i)
	name := f.text[min(i+1, end):end]
	if len(name) > 200 || !f.secret(name) {
		return i
	}
	tag := f.text[end:min(end+mostHead, len(f.text))]
	if n := bytes.IndexAny(tag, "<>"); n >= 0 {
		tag = tag[:n]
	}
	if stop := f.attribute(name, end, end+len(tag)); stop > 0 {
		return stop
	}
	begin := max(0, i-mostHead)
	if n := bytes.LastIndexByte(f.text[begin:i], '<'); n >= 0 && bytes.IndexByte(f.text[begin+n:i], '>') < 0 {
		f.attribute(name, begin+n, i) // it stands before the name
		f.content(f.text[begin+n+1:i], end+len(tag))
	}
	return end
}

// attribute hides the value or content of a tag, or of a part of it. It returns where to go on; 0 = there is none.
func (f *finder) attribute(name []byte, from, to int) int {
	for _, attribute := range []string{" value=", " content="} {
		n := bytes.Index(f.text[from:to], []byte(attribute))
		if n < 0 || from+n+len(attribute) == to {
			continue
		}
		at := from + n + len(attribute)
		if quote := f.text[at]; quote == '"' || quote == '\'' {
			stop := endOfString(f.text, at)
			f.hide(name, at+1, stop)
			return min(stop+1, len(f.text))
		}
	}
	return 0
}

// content hides the text behind a tag that ends at i, if it is that of a field with a name: <field name="token">abc</field>.
// Behind a tag of HTML there are labels.
func (f *finder) content(tag []byte, i int) {
	element, _, _ := strings.Cut(string(tag[:min(len(tag), longName)]), " ")
	switch strings.ToLower(element) {
	case "input", "meta", "form", "button", "a", "img", "iframe", "select", "fieldset", "label", "div", "span", "p", "li", "td", "section":
		return
	}
	if i >= len(f.text) || f.text[i] != '>' || f.text[i-1] == '/' {
		return
	}
	if n := bytes.IndexByte(f.text[i:], '<'); n > 0 {
		f.hideSome(nil, i+1, i+n, false, false)
	}
}

// parts looks for fields of a form in parts (RFC 7578).
func (f *finder) parts() {
	if f.level > 0 && !bytes.Contains(f.text, []byte("\n")) {
		return
	}
	boundary := []byte("\n--")
	if bytes.HasPrefix(f.text, []byte("--")) {
		line, _, _ := bytes.Cut(f.text, []byte("\n"))
		boundary = append([]byte("\n"), bytes.TrimRight(line, "\r")...)
	}
	const field = "form-data;"
	for i := 0; ; {
		n := bytes.Index(f.text[i:], []byte(field))
		if n < 0 {
			return
		}
		i += n + len(field)
		head, value := f.text[i:min(i+mostHead, len(f.text))], len(f.text)
		for _, gap := range []string{"\r\n\r\n", "\n\n"} {
			if n := bytes.Index(head, []byte(gap)); n >= 0 {
				head, value = head[:n], i+n+len(gap)
			}
		}
		end := len(f.text)
		if n := bytes.Index(f.text[value:], boundary); n >= 0 {
			end = value + n
		}
		if name := []byte(partName(head)); f.secret(name) {
			f.hide(name, value, end)
		}
		i = max(i, end)
	}
}

// partName returns the name of a field, from its head.
func partName(head []byte) string {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	for attribute := range strings.SplitSeq(string(line), ";") {
		if name, found := strings.CutPrefix(strings.TrimSpace(attribute), "name="); found {
			return strings.Trim(name, "\" \r")
		}
	}
	return ""
}

// elements looks for elements of XML and HTML.
func (f *finder) elements() {
	for i := 0; i < len(f.text); {
		n := bytes.IndexByte(f.text[i:], '<')
		if n < 0 {
			return
		}
		from := i + n + 1
		end := from
		for end < len(f.text) && (isNameByte(f.text[end]) || f.text[end] == ':') {
			end++
		}
		i = end
		if name := f.text[from:end]; from < end && !f.plain(from-1, end) && f.secret(name) {
			i = f.element(name, end)
		}
	}
}

// closing returns how elements end behind i: in a string of JSON the slash may be escaped.
func (f *finder) closing(i int) []byte {
	for i < len(f.text) {
		n := bytes.IndexByte(f.text[i:], '<')
		if n < 0 {
			break
		}
		if i += n + 1; bytes.HasPrefix(f.text[i:], []byte(`\/`)) {
			return []byte(`<\/`)
		}
		if bytes.HasPrefix(f.text[i:], []byte("/")) {
			break
		}
	}
	return []byte("</")
}

// element hides the content of an element whose name ends at i. It returns where to go on.
func (f *finder) element(name []byte, i int) int {
	n := bytes.IndexByte(f.text[i:], '>')
	if n < 0 {
		return len(f.text) // attributes are parameters
	}
	i += n + 1
	if f.text[i-2] == '/' {
		return i
	}
	begin := i
	open, shut := append([]byte("<"), name...), append(f.closing(i), name...)
	for depth := 1; ; {
		end := bytes.Index(f.text[i:], shut)
		if end < 0 {
			end = len(f.text)
			if n := bytes.IndexByte(f.text[begin:], '"'); n >= 0 && f.d.json() { // it cannot go on behind its string
				end = begin + n
			}
			f.hide(name, begin, end)
			return end
		}
		depth += bytes.Count(f.text[i:i+end], open) - 1
		if i += end; depth <= 0 {
			f.hide(name, begin, i)
			return i
		}
		i += len(shut)
	}
}
