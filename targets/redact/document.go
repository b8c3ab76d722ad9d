package redact

import (
	"bytes"
	"slices"

	"github.com/loadctl/loadctl/targets"
)

// A document is one text of an exchange.
type document struct {
	source []byte
	word   string            // what stands for a secret
	form   bool              // only & ends a value
	body   bool              // it may be cut off
	whole  bool              // it is not shown at all
	store  func(text []byte) // takes what is shown, if that differs

	views []view
	spans []span
}

// A span is a range of the source that is not shown.
type span struct {
	from, to int
	quoted   bool // it is a number of JSON, which becomes a string
}

// A finder looks for secrets by name in a view of a document.
type finder struct {
	*Redactor
	view
	known *secrets
	d     *document
	level int // how many levels of escapes were taken out
}

// find notes the secrets that names tell of, in the text and behind its escapes.
func (d *document) find(r *Redactor, known *secrets) {
	if d.whole {
		return
	}
	v, more := view{text: d.source}, true
	for level := 0; more && level <= mostLevels; level++ {
		d.views = append(d.views, v)
		f := finder{r, v, known, d, level}
		f.members()
		f.parameters()
		f.elements()
		f.parts()
		f.words()
		f.logins()
		v, more = v.decoded(allEscapes)
	}
}

// hide notes that a value is not shown.
func (f *finder) hide(name []byte, from, to int) { f.hideSome(name, from, to, false, true) }

// hideSome notes that a value is not shown, unless it tells nothing. elsewhere: it is looked for in the whole exchange.
func (f *finder) hideSome(name []byte, from, to int, quoted, elsewhere bool) {
	for from < to && isSpace(f.text[from]) {
		from++
	}
	for from < to && isSpace(f.text[to-1]) {
		to--
	}
	if from >= to || to-from <= 20 && f.readable(string(name), string(f.text[from:to])) {
		return
	}
	if elsewhere {
		value, open := f.text[from:to], to == len(f.text) && f.d.body
		if open {
			value = finished(value)
		}
		f.known.add(string(value), open)
	}
	from, to = f.source(from, to)
	if written := f.d.source[from:to]; elsewhere && f.level > 0 && bytes.ContainsAny(written, `%&+`) {
		f.known.add(string(finished(written)), false) // of another kind than the escapes that hid the name
	}
	f.d.spans = append(f.d.spans, span{from, to, quoted && f.level == 0})
}

// finish notes where known secrets stand, and stores what may be shown. It reports whether something may not.
func (d *document) finish(m *matcher) bool {
	if d.whole || m == nil && d.body && len(d.source) > 0 {
		d.store([]byte(targets.Redacted))
		return true
	}
	if m != nil {
		least := 2 * leastBytes
		if d.body {
			least = leastBytes // it is likely to be cut off
		}
		for _, v := range d.views {
			m.match(v.text, least, func(from, to int) {
				from, to = v.source(from, to)
				d.spans = append(d.spans, span{from: from, to: to})
			})
		}
	} else {
		d.spans = []span{{from: 0, to: len(d.source)}}
	}
	if len(d.spans) == 0 || len(d.source) == 0 {
		return false
	}
	d.merge()
	if d.json() {
		d.widen()
		d.merge()
	}
	d.store(d.shown())
	return true
}

// json reports whether the text looks like JSON.
func (d *document) json() bool {
	first := bytes.TrimLeft(d.source, " \t\r\n")
	return len(first) > 0 && (first[0] == '{' || first[0] == '[')
}

// merge sorts spans, and makes one of those that touch.
func (d *document) merge() {
	slices.SortFunc(d.spans, func(a, b span) int { return a.from - b.from })
	all := d.spans[:1]
	for _, s := range d.spans[1:] {
		last := &all[len(all)-1]
		if s.from > last.to {
			all = append(all, s)
			continue
		}
		last.quoted = last.quoted && s.from >= last.from && s.to <= last.to || s.quoted && s.from == last.from && s.to >= last.to
		last.to = max(last.to, s.to)
	}
	d.spans = all
}

// widen extends spans in numbers and words of JSON to all of them, because half a number with brackets is no JSON.
func (d *document) widen() {
	next := 0
	for i := 0; i < len(d.source) && next < len(d.spans); {
		from := i
		switch c := d.source[i]; {
		case c == '"':
			i = endOfString(d.source, i)
			i = min(i+1, len(d.source))
		case isBare(c):
			i = endOfBare(d.source, i)
			for next < len(d.spans) && d.spans[next].to <= from {
				next++
			}
			if s := next; s < len(d.spans) && d.spans[s].from < i && d.spans[s].from >= from && d.spans[s].to <= i {
				d.spans[s] = span{from, i, true}
			}
		default:
			i++
		}
	}
}

// shown returns the source with a word for each span.
func (d *document) shown() []byte {
	out := make([]byte, 0, len(d.source)+len(d.spans)*len(d.word))
	at := 0
	for _, s := range d.spans {
		out = append(out, d.source[at:s.from]...)
		if s.quoted {
			out = append(append(append(out, '"'), d.word...), '"')
		} else {
			out = append(out, d.word...)
		}
		at = s.to
	}
	return append(out, d.source[at:]...)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// isBare reports whether a byte may be part of a number or a word of JSON.
func isBare(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c == '+' || c == '.' || c == '_'
}

// endOfBare returns where the number or word that begins at i ends.
func endOfBare(b []byte, i int) int {
	for i < len(b) && isBare(b[i]) {
		i++
	}
	return i
}

// endOfString returns where the quote is that ends the string that begins at i; the end of the text if there is none.
func endOfString(b []byte, i int) int {
	quote := b[i]
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case quote:
			return i
		}
	}
	return len(b)
}
