package importer

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/targets"
)

// curl reads curl commands: a flow of each, or one flow of all.
func (o Options) curl(content []byte) (*file, error) {
	commands, err := split(string(content))
	if e, ok := errors.AsType[errAt](err); ok {
		return nil, fmt.Errorf("%s:%d: %w", o.Name, e.line, e.err)
	}
	f := &file{}
	var steps []step
	var unique names
	for _, words := range commands {
		c := &command{Options: o}
		r, err := c.request(words)
		if e, ok := errors.AsType[errAt](err); ok {
			return nil, fmt.Errorf("%s:%d: %w", o.Name, e.line, e.err)
		}
		s, err := f.add(r)
		if err != nil {
			return nil, err
		}
		if c.user {
			s.leaveOut("Authorization (-u)")
		}
		if c.cookie {
			s.leaveOut("Cookie (-b)")
		}
		s.Name = unique.of(stepName(s.Method, s.URL))
		steps = append(steps, s)
	}
	switch {
	case len(steps) == 0:
		return nil, fmt.Errorf("%s: there is no command; give lines such as curl https://host/path", o.Name)
	case o.Steps && len(steps) > targets.MaxSteps:
		return nil, fmt.Errorf("%s: has %d commands, and a flow has at most %d; leave --steps out, or import a part", o.Name, len(steps), targets.MaxSteps)
	case len(steps) > targets.MaxFlows:
		return nil, fmt.Errorf("%s: has %d commands, at most %d; import a part", o.Name, len(steps), targets.MaxFlows)
	}
	f.notes = []string{fmt.Sprintf("Imported from %s: %s.", o.shown(), plural(len(steps), "curl command", "curl commands"))}
	if o.Steps {
		f.flows = []flow{{name: "commands", steps: afterEachOther(steps)}}
	} else {
		f.mixed = len(steps) > 1
		for _, s := range steps {
			f.flows = append(f.flows, flow{name: s.Name, weight: 1, steps: []step{s}})
		}
	}
	f.begin(o.Base)
	return f, nil
}

// afterEachOther makes each step follow the answer of the one before.
func afterEachOther(steps []step) []step {
	for i := range steps[1:] {
		steps[i+1].After = new(steps[i+1].At)
	}
	return steps
}

// A command is one curl command.
type command struct {
	Options
	r            request
	data         []string
	file         string
	get          bool // the data goes into the query
	typed        bool // the data needs a Content-Type
	user, cookie bool
	words        []word
	line         int
}

// fail returns an error at the current word.
func (c *command) fail(format string, args ...any) error {
	return errAt{c.line, fmt.Errorf(format, args...)}
}

// request reads the words of a command.
func (c *command) request(words []word) (request, error) {
	if words[0].text == "$" && len(words) > 1 {
		words = words[1:] // a prompt
	}
	c.line, c.words = words[0].line, words[1:]
	c.r.where = fmt.Sprintf("%s:%d", c.Name, c.line)
	if name := words[0].text; name != "curl" && name != "curl.exe" {
		return c.r, c.fail("this command does not begin with curl; remove it, or put the text before it in quotes")
	}
	begin := c.line
	for len(c.words) > 0 {
		if err := c.next(); err != nil {
			return c.r, err
		}
	}
	c.line = begin
	return c.r, c.finish()
}

// next reads an option with its value, or the URL.
func (c *command) next() error {
	w := c.words[0]
	c.words, c.line = c.words[1:], w.line
	switch {
	case strings.HasPrefix(w.text, "--"):
		return c.long(w.text)
	case strings.HasPrefix(w.text, "-") && len(w.text) > 1:
		return c.short(w.text[1:])
	case strings.HasPrefix(w.text, "^"):
		return c.fail("the command is for cmd.exe of Windows; copy it as cURL (bash)")
	}
	return c.target(w.text)
}

// long reads an option such as --data.
func (c *command) long(name string) error {
	key, known := longOptions()[name]
	if !known {
		return c.unknown(name)
	}
	return c.option(key, name, "")
}

// short reads options such as -kL or -XPOST.
func (c *command) short(text string) error {
	for text != "" {
		name := "-" + text[:1]
		if strings.IndexByte(shortOptions, text[0]) < 0 {
			return c.unknown(name)
		}
		text = text[1:]
		if strings.Contains(withValue, name[1:]) {
			return c.option(name[1:], name, text)
		}
		if err := c.option(name[1:], name, ""); err != nil {
			return err
		}
	}
	return nil
}

func (c *command) unknown(name string) error {
	return c.fail("the option %.40q of curl is not known here; remove it, and set what it does with a flag of loadctl run or in the workload", name)
}

// The options by their letters, and those of them that have a value. Options without a letter of curl's have a name.
const (
	shortOptions = "XHdubAekGLgsSifvI"
	withValue    = "XHdubAe"
)

// longOptions returns the letter or the name of each long option.
func longOptions() map[string]string {
	return map[string]string{
		"--request": "X", "--header": "H", "--data": "d", "--data-ascii": "d", "--data-raw": "raw", "--data-binary": "binary", "--data-urlencode": "urlencode",
		"--user": "u", "--cookie": "b", "--user-agent": "A", "--referer": "e", "--insecure": "k", "--compressed": "compressed", "--url": "url",
		"--get": "G", "--location": "L", "--globoff": "g", "--silent": "s", "--show-error": "S", "--include": "i", "--fail": "f", "--verbose": "v", "--head": "I",
	}
}

// option applies an option. attached is a value that follows its letter at once.
func (c *command) option(key, name, attached string) error {
	value := attached
	if len(key) == 1 && strings.Contains(withValue, key) || slices.Contains([]string{"raw", "binary", "urlencode", "url"}, key) {
		if value == "" {
			if len(c.words) == 0 {
				return c.fail("the option %s has no value; give it one, or remove it", name)
			}
			value = c.words[0].text
			c.words = c.words[1:]
		}
	}
	switch key {
	case "X":
		c.r.Method = value
	case "H":
		return c.header(value)
	case "d", "raw", "binary", "urlencode":
		return c.body(key, value)
	case "u":
		c.user = true
	case "b":
		c.cookie = true
	case "A":
		c.set("User-Agent", value)
	case "e":
		c.set("Referer", value)
	case "k":
		c.r.notes = append(c.r.notes, "curl -k: give --insecure to the run, which holds for all requests")
	case "L":
		c.r.notes = append(c.r.notes, "curl -L: give --redirects 5 to the run, which holds for all requests")
	case "url":
		return c.target(value)
	case "G":
		c.get = true
	case "I":
		c.r.Method = http.MethodHead
	}
	return nil
}

// target takes the URL.
func (c *command) target(raw string) error {
	if c.r.URL != "" {
		return c.fail("the command has a second URL, %.60q; write a command for each", origin(raw)+"/…")
	}
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	if raw == "http://" {
		return c.fail("the URL is empty; write such as curl https://host/path")
	}
	c.r.URL = raw
	return nil
}

// header takes a header. curl removes its own ones if they have no value.
func (c *command) header(line string) error {
	name, value, found := strings.Cut(line, ":")
	empty, isEmpty := strings.CutSuffix(line, ";")
	switch {
	case found && strings.TrimSpace(value) == "":
		return nil
	case !found && isEmpty:
		c.set(empty, "")
	case !found:
		return c.fail("a header has no colon; write -H 'NAME: VALUE'")
	default:
		c.set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return nil
}

// set adds a header. One that curl would choose itself is replaced.
func (c *command) set(name, value string) {
	c.r.Headers = append(c.r.Headers, targets.Header{Name: name, Value: value})
}

// body takes a part of the body.
func (c *command) body(kind, value string) error {
	c.typed = true
	switch file, isFile := strings.CutPrefix(value, "@"); {
	case kind == "urlencode":
		text, err := encoded(value)
		if err != nil {
			return c.fail("%w", err)
		}
		c.data = append(c.data, text)
	case isFile && kind != "raw":
		if c.file != "" || file == "-" || file == "" {
			return c.fail("a body is one file, and no standard input; give such as --data-binary @FILE")
		}
		c.file = file
		if kind == "d" {
			c.r.notes = append(c.r.notes, "curl -d @FILE removes line breaks, and body_file does not")
		}
	default:
		c.data = append(c.data, value)
	}
	return nil
}

// encoded returns the value of --data-urlencode: TEXT, =TEXT or NAME=TEXT. curl escapes a space as %20.
func encoded(value string) (string, error) {
	name, text, found := strings.Cut(value, "=")
	if !found {
		name, text = "", value
	}
	if strings.Contains(name, "@") || !found && strings.Contains(value, "@") {
		return "", errors.New("--data-urlencode of a file is not known here; put the text itself there")
	}
	text = strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
	if name == "" {
		return text, nil
	}
	return name + "=" + text, nil
}

// finish makes a request of the options.
func (c *command) finish() error {
	switch {
	case c.r.URL == "":
		return c.fail("the command has no URL; write such as curl https://host/path")
	case c.file != "" && (len(c.data) > 0 || c.get):
		return c.fail("a body is either a file or text; remove one of them")
	}
	data := strings.Join(c.data, "&")
	switch {
	case c.get && len(c.data) > 0:
		c.r.URL = joined(c.r.URL, data)
		c.r.Method = cmp.Or(c.r.Method, http.MethodGet)
		return nil
	case c.file != "":
		c.r.bodyFile = c.beside(c.file)
	default:
		c.r.Body = []byte(data)
	}
	if c.typed {
		c.r.Method = cmp.Or(c.r.Method, http.MethodPost)
		if !slices.ContainsFunc(c.r.Headers, func(h targets.Header) bool { return strings.EqualFold(h.Name, "Content-Type") }) {
			c.set("Content-Type", formType)
		}
	}
	c.r.Method = cmp.Or(c.r.Method, http.MethodGet)
	return nil
}

// joined appends to the query of a URL.
func joined(raw, query string) string {
	raw, _, _ = strings.Cut(raw, "#")
	if strings.Contains(raw, "?") {
		return raw + "&" + query
	}
	return raw + "?" + query
}

// beside returns the path of a file as the workload file has to name it.
func (o Options) beside(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	if rel, err := filepath.Rel(filepath.Dir(cmp.Or(o.Out, "workload.yaml")), name); err == nil {
		return rel
	}
	return name
}
