// Package workload reads files that describe the requests of a run: targets files and workload files.
//
//	all, err := workload.Targets("targets.txt", content)
//	for _, t := range all {
//		err := wire.CheckStep(spec, t.Step) // t.Line is where it stands
//	}
//	w, err := workload.YAML("shop.yaml", content)
//
// Not here: whether a request is valid (package targets).
package workload

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/targets"
)

// MostBytes bounds a file together with the bodies that it names: it travels with the run.
const MostBytes = 4 << 20

// A Target is one request of a targets file.
type Target struct {
	targets.Step
	Weight int64 // 0 = none was given
	Line   int   // of the file, where it begins
}

// Flow returns the flow of this request alone.
func (t Target) Flow() targets.Flow {
	return targets.Flow{Name: t.Name, Weight: t.Weight, Steps: []targets.Step{t.Step}}
}

// Targets reads a targets file: vegeta's formats http and json, or a URL a line. A target may have a weight and a name:
//
//	GET http://shop.test/items weight=80 name=browse
//	Accept: application/json
//
//	POST http://shop.test/cart weight=20 name=cart
//	@cart.json
//
// Bodies are read from files beside the targets file. An error is one line, FILE:LINE: what to do.
func Targets(path string, content []byte) ([]Target, error) {
	var all []Target
	var err error
	r := reader{path: path, size: len(content)}
	switch text := bytes.TrimLeft(content, " \t\r\n"); {
	case len(content) > MostBytes:
		return nil, r.tooLarge()
	case bytes.IndexByte(content, 0) >= 0:
		return nil, fmt.Errorf("%s: holds a zero byte, so it is no text; give lines such as GET http://host/path", path)
	case len(text) > 0 && text[0] == '{':
		all, err = r.json(content)
	default:
		all, err = r.lines(string(content))
	}
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: holds no target; write lines such as GET http://host/path", path)
	}
	if len(all) > targets.MaxFlows {
		return nil, fmt.Errorf("%s: has %d targets, at most %d; put the part that differs into a data file: see docs/workloads.md#data-files", path, len(all), targets.MaxFlows)
	}
	nameAll(all)
	return all, nil
}

// A reader reads one file.
type reader struct {
	path string
	size int // bytes so far, with bodies
}

func (r *reader) fail(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", r.path, line, fmt.Errorf(format, args...))
}

func (r *reader) tooLarge() error {
	return fmt.Errorf("%s: is larger than %d MiB with its bodies; put the part that differs into a data file: see docs/workloads.md#data-files", r.path, MostBytes>>20)
}

// first matches the first line of a target: an optional method, a URL, and what follows.
var first = regexp.MustCompile(`^(?:([A-Za-z]+)[ \t]+)?([A-Za-z][A-Za-z0-9+.-]*://\S*)(.*)$`)

// lines reads targets of lines: the first one, headers, and a body.
func (r *reader) lines(text string) (all []Target, err error) {
	open := false // headers may follow
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		switch m := first.FindStringSubmatch(line); {
		case line == "":
			open = false
		case line[0] == '#':
		case m != nil:
			f := Target{Line: n}
			f.Method, f.URL, open = m[1], m[2], true
			if err := r.options(&f, m[3]); err != nil {
				return nil, err
			}
			all = append(all, f)
		case !open:
			return nil, r.fail(n, "%.40q begins no target; write METHOD URL, such as GET http://host/path", strings.Fields(line)[0]) // the rest may be a secret
		default:
			if err := r.detail(&all[len(all)-1], n, line); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// detail reads a header or the name of a body.
func (r *reader) detail(f *Target, n int, line string) (err error) {
	if name, ok := strings.CutPrefix(line, "@"); ok {
		if f.Body != nil {
			return r.fail(n, "the target has two bodies; leave one out")
		}
		f.Body, err = r.body(n, name)
		return err
	}
	h, err := targets.ParseHeader(line)
	if err != nil {
		return r.fail(n, "%w; begin a new target with METHOD URL, such as GET http://host/path", err)
	}
	f.Headers = append(f.Headers, h)
	return nil
}

// body reads the file of a body.
func (r *reader) body(n int, name string) ([]byte, error) {
	body, err := r.load(name)
	if err != nil {
		return nil, r.fail(n, "body: %w", err)
	}
	if r.size += len(body); r.size > MostBytes {
		return nil, r.tooLarge()
	}
	return body, nil
}

// beside returns the path of a file that the file read names: a relative one begins at its folder.
func (r *reader) beside(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(r.path), name)
}

// load reads a file that the file read names, but not much more than may travel with the run.
func (r *reader) load(name string) ([]byte, error) {
	file, err := os.Open(r.beside(name))
	if err != nil {
		return nil, cause(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(file, MostBytes+1))
	return content, cause(err)
}

// cause leaves out the name of the system call.
func cause(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("%s: %w", e.Path, e.Err)
	}
	return err
}

// options reads what follows the URL: weight=N and name=TEXT. The name goes to the end of the line.
func (r *reader) options(f *Target, text string) error {
	for text = strings.TrimSpace(text); text != ""; {
		if name, ok := strings.CutPrefix(text, "name="); ok {
			f.Name = strings.TrimSpace(name)
			if strings.Contains(f.Name, " weight=") {
				return r.fail(f.Line, "the name goes to the end of the line; write weight=N before name=TEXT")
			}
			if f.Name == "" {
				return r.fail(f.Line, "the name is empty; write name=TEXT")
			}
			return nil
		}
		word, rest, _ := strings.Cut(text, " ")
		weight, ok := strings.CutPrefix(word, "weight=")
		if !ok {
			return r.fail(f.Line, "%.60q cannot follow the URL; write weight=N and then name=TEXT", word)
		}
		n, err := strconv.ParseInt(weight, 10, 64)
		if err != nil || n < 1 || n > targets.MaxWeight {
			return r.fail(f.Line, "weight %.20q: give a whole number from 1 to %d", weight, targets.MaxWeight)
		}
		f.Weight, text = n, strings.TrimSpace(rest)
	}
	return nil
}

// A line is a target in JSON.
type line struct {
	Method string            `json:"method"`
	URL    string            `json:"url"`
	Body   []byte            `json:"body"`
	Header map[string]values `json:"header"`
	Weight *int64            `json:"weight"`
	Name   string            `json:"name"`
}

// values are those of a header: an array of texts, or one text.
type values []string

// UnmarshalJSON implements json.Unmarshaler.
func (v *values) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*v = values{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(v))
}

// json reads a target a line.
func (r *reader) json(content []byte) (all []Target, err error) {
	n := 0
	for text := range bytes.Lines(content) {
		n++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		var l line
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&l); err != nil {
			return nil, r.fail(n, "%s; write a target a line, such as {\"method\": \"GET\", \"url\": \"http://host/path\"}", explain(err))
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return nil, r.fail(n, "more follows the target; write one a line")
		}
		f := Target{Line: n}
		f.Method, f.URL, f.Body, f.Name = l.Method, l.URL, l.Body, l.Name
		if l.Weight != nil {
			if f.Weight = *l.Weight; f.Weight < 1 || f.Weight > targets.MaxWeight {
				return nil, r.fail(n, "weight %d: give a whole number from 1 to %d", f.Weight, targets.MaxWeight)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(l.Header)) { // JSON objects have no order
			for _, value := range l.Header[name] {
				f.Headers = append(f.Headers, targets.Header{Name: name, Value: value})
			}
		}
		all = append(all, f)
	}
	return all, nil
}

// explain returns what the decoder says of a line of JSON, in words of the user.
func explain(err error) string {
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Sprintf("there is no member %.60s; use method, url, header, body, weight, name", field)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("member %s: %s does not fit", cmp.Or(e.Field, "of the header"), e.Value)
	}
	if strings.HasPrefix(err.Error(), "illegal base64") {
		return "the body is not base64"
	}
	return "it is not JSON: " + strings.TrimPrefix(err.Error(), "json: ")
}

// nameAll names the targets that have no name: method and path, with the host if there are several.
func nameAll(all []Target) {
	hosts := map[string]bool{}
	for _, f := range all {
		hosts[host(f.URL)] = true
	}
	for i := range all {
		f := &all[i]
		if f.Name != "" {
			continue
		}
		where := path(f.URL)
		if len(hosts) > 1 {
			where = host(f.URL) + where
		}
		f.Name = clip(cmp.Or(f.Method, methodOf(f.Step)) + " " + where)
	}
}

// StepName returns the name of a step that was given none: its method and the path of its URL, with * for placeholders.
// It is valid: it has at most 64 bytes, and no braces, commas or control characters. Others may have the same one.
func StepName(method, rawURL string) string { return clip(method + " " + path(rawURL)) }

// methodOf is the method of a request that names none.
func methodOf(s targets.Step) string {
	if len(s.Body) > 0 {
		return http.MethodPost
	}
	return http.MethodGet
}

var placeholder = regexp.MustCompile(`\$\{[^}]*\}`)

// path returns the path of a URL, with * for placeholders.
func path(raw string) string {
	raw = placeholder.ReplaceAllString(raw, "*")
	_, rest, _ := strings.Cut(raw, "://")
	i := strings.IndexAny(rest, "/?#")
	if i < 0 || rest[i] != '/' {
		return "/"
	}
	rest, _, _ = strings.Cut(rest[i:], "?")
	rest, _, _ = strings.Cut(rest, "#")
	return rest
}

// host returns the host of a URL, without a password.
func host(raw string) string {
	u, err := url.Parse(placeholder.ReplaceAllString(raw, "*"))
	if err != nil {
		return ""
	}
	return u.Host
}

// clip makes a text fit a name.
func clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune("{},", r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(s, "_"))
	const most = 64 - len("…")
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xc0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
