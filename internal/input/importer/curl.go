package importer

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/internal/input/draft"
	"github.com/loadctl/loadctl/internal/input/workload"
	"github.com/loadctl/loadctl/targets"
)

// curl reads curl commands: a flow of each, or one flow of all.
func (o Options) curl(content []byte) (*draft.File, error) {
	commands, err := split(string(content))
	if e, ok := errors.AsType[errAt](err); ok {
		return nil, fmt.Errorf("%s:%d: %w", o.Name, e.line, e.err)
	}
	f := &draft.File{Secrets: draft.NewSecrets()}
	steps, err := o.commanded(f, commands)
	if err != nil {
		return nil, err
	}
	what := "commands"
	if len(steps) > len(commands) {
		what = "requests"
	}
	switch {
	case len(steps) == 0:
		return nil, fmt.Errorf("%s: there is no command; give lines such as curl https://host/path", o.Name)
	case o.Steps && len(steps) > targets.MaxSteps:
		return nil, fmt.Errorf("%s: has %d %s, and a flow has at most %d; leave --steps out, or import a part", o.Name, len(steps), what, targets.MaxSteps)
	}
	note := fmt.Sprintf("Imported from %s: %s", o.shown(), draft.Plural(len(commands), "curl command", "curl commands"))
	if len(steps) > len(commands) {
		note += fmt.Sprintf(" with %d URLs", len(steps))
	}
	f.Notes = []string{note + "."}
	if o.Steps {
		f.Flows = []draft.Flow{{Name: "commands", Steps: afterEachOther(steps)}}
	} else {
		f.Mixed = len(steps) > 1
		for _, s := range steps {
			f.Flows = append(f.Flows, draft.Flow{Name: s.Name, Weight: 1, Steps: []draft.Step{s}})
		}
	}
	f.Begin(o.Base)
	return f, nil
}

// commanded makes steps of commands.
func (o Options) commanded(f *draft.File, commands [][]word) (steps []draft.Step, err error) {
	var unique draft.Names
	known, size := curlOptions(), 0
	for _, words := range commands {
		c := &command{Options: o, known: known}
		requests, err := c.requests(words)
		if e, ok := errors.AsType[errAt](err); ok {
			return nil, fmt.Errorf("%s:%d: %w", o.Name, e.line, e.err)
		}
		size += requests[0].Size() * len(requests)
		switch {
		case len(steps)+len(requests) > targets.MaxFlows:
			return nil, fmt.Errorf("%s: has more than %d requests; import a part", o.Name, targets.MaxFlows)
		case size > workload.MostBytes:
			return nil, fmt.Errorf("%s: its requests have more than the %d MiB that a workload file may have; import a part", o.Name, workload.MostBytes>>20)
		}
		for _, r := range requests {
			s, err := f.Add(r)
			if err != nil {
				return nil, err
			}
			s.Name = unique.Of(draft.StepName(s.Method, s.URL))
			steps = append(steps, s)
		}
	}
	return steps, nil
}

// afterEachOther makes each step follow the answer of the one before.
func afterEachOther(steps []draft.Step) []draft.Step {
	for i := range steps[1:] {
		steps[i+1].After = new(steps[i+1].At)
	}
	return steps
}

// A command is one curl command.
type command struct {
	Options
	known   map[string]option
	r       draft.Request
	url     string           // as it was given
	own     []targets.Header // those that curl adds, unless a -H names them
	removed []string         // names of -H 'NAME:'
	data    []string
	parts   []formPart
	read    int // bytes of their files
	file    string
	span    string   // of -r
	skipped []string // options that do not change the request
	get     bool     // the data goes into the query
	plain   bool     // the URL is no pattern
	typed   bool     // the data needs a Content-Type
	words   []word
	line    int
}

// fail returns an error at the current word.
func (c *command) fail(format string, args ...any) error {
	return errAt{c.line, fmt.Errorf(format, args...)}
}

// requests reads the words of a command. It has a request for each URL that its pattern stands for.
func (c *command) requests(words []word) ([]draft.Request, error) {
	if words[0].text == "$" && len(words) > 1 {
		words = words[1:] // a prompt
	}
	c.line, c.words = words[0].line, words[1:]
	c.r.Where = fmt.Sprintf("%s:%d", c.Name, c.line)
	if name := words[0].text; name != "curl" && name != "curl.exe" {
		return nil, c.fail("this command does not begin with curl; remove it, or put the text before it in quotes")
	}
	begin := c.line
	for len(c.words) > 0 {
		if err := c.next(); err != nil {
			return nil, err
		}
	}
	c.line = begin
	if err := c.finish(); err != nil {
		return nil, err
	}
	return c.each()
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
	o, known := c.known[name]
	if !known {
		return c.unknown(name)
	}
	return c.option(o, name, "")
}

// short reads options such as -kL or -XPOST.
func (c *command) short(text string) error {
	for text != "" {
		name := "-" + text[:1]
		o, known := c.known[name]
		if !known {
			return c.unknown(name)
		}
		text = text[1:]
		if o.value {
			return c.option(o, name, text)
		}
		if err := c.option(o, name, ""); err != nil {
			return err
		}
	}
	return nil
}

func (c *command) unknown(name string) error {
	return c.fail("the option %.40q of curl is not known here; remove it, and set what it does with a flag of loadctl run or in the workload", name)
}

// option applies an option. attached is a value that follows its letter at once.
func (c *command) option(o option, name, attached string) error {
	value := attached
	if o.value && value == "" {
		if len(c.words) == 0 {
			return c.fail("the option %s has no value; give it one, or remove it", name)
		}
		value = c.words[0].text
		c.words = c.words[1:]
	}
	switch note := "curl " + name + ": " + o.note; {
	case o.set != nil:
		return o.set(c, value)
	case o.note == "" && !slices.Contains(c.skipped, name):
		c.skipped = append(c.skipped, name)
	case o.note != "" && !slices.Contains(c.r.Notes, note):
		c.r.Notes = append(c.r.Notes, note)
	}
	return nil
}

// target takes the URL.
func (c *command) target(raw string) error {
	switch {
	case c.url != "":
		return c.fail("the command has a second URL, %.60q; write a command for each", draft.Origin(raw)+"/…")
	case raw == "" || raw == "http://":
		return c.fail("the URL is empty; write such as curl https://host/path")
	}
	c.url = raw
	return nil
}

// schemed matches a URL with a scheme. curl takes one to three slashes behind it.
var schemed = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*):(/+)`)

// absolute returns a URL as curl reads it, with its scheme.
func (c *command) absolute(raw string) (string, error) {
	found := schemed.FindStringSubmatch(raw)
	switch {
	case found == nil:
		return "http://" + raw, nil
	case len(found[2]) > 3:
		return "", c.fail("the URL has %d slashes behind its scheme; write such as curl https://host/path", len(found[2]))
	}
	return strings.ToLower(found[1]) + "://" + raw[len(found[0]):], nil
}

// header takes a header. curl leaves out its own one if the value is missing.
func (c *command) header(line string) error {
	name, value, found := strings.Cut(line, ":")
	empty, isEmpty := strings.CutSuffix(line, ";")
	switch {
	case found && strings.TrimSpace(value) == "":
		c.removed = append(c.removed, http.CanonicalHeaderKey(strings.TrimSpace(name)))
	case !found && isEmpty:
		c.set(empty, "")
	case !found:
		return c.fail("a header has no colon; write -H 'NAME: VALUE'")
	default:
		c.set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return nil
}

// set adds a header. curl sends the first Host of several.
func (c *command) set(name, value string) {
	if !strings.EqualFold(name, "Host") || c.given(name) == nil {
		c.r.Headers = append(c.r.Headers, targets.Header{Name: name, Value: value})
	}
}

// given returns the header of -H with this name.
func (c *command) given(name string) *targets.Header {
	i := slices.IndexFunc(c.r.Headers, func(h targets.Header) bool { return strings.EqualFold(h.Name, name) })
	if i < 0 {
		return nil
	}
	return &c.r.Headers[i]
}

// choose sets a header that curl has an option for. The last option counts.
func (c *command) choose(name, value string) {
	c.own = slices.DeleteFunc(c.own, func(h targets.Header) bool { return h.Name == name })
	c.own = append(c.own, targets.Header{Name: name, Value: value})
}

// body takes a part of the body.
func (c *command) body(kind, value string) error {
	if kind == "json" {
		c.choose("Content-Type", draft.JSONType)
		c.choose("Accept", draft.JSONType)
	} else {
		c.typed = true
		if len(c.data) > 0 {
			c.data = append(c.data, "&")
		}
	}
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
			c.r.Notes = append(c.r.Notes, "curl -d @FILE removes line breaks, and body_file does not")
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

// finish makes a request of the options, but for its URL.
func (c *command) finish() error {
	hasData := len(c.data) > 0 || c.file != ""
	switch {
	case c.url == "":
		return c.fail("the command has no URL; write such as curl https://host/path")
	case c.file != "" && (len(c.data) > 0 || c.get):
		return c.fail("a body is either a file or text; remove one of them")
	case len(c.parts) > 0 && (hasData || c.r.Method == http.MethodHead):
		return c.fail("-F is beside -d, --json or -I, and curl sends one of them; remove the others")
	case c.span != "" && (hasData && !c.get || len(c.parts) > 0):
		return c.fail("-r is beside a body, and a Range is for answers; remove one of them")
	case len(c.parts) > 0:
		if err := c.form(); err != nil {
			return err
		}
	case c.file != "":
		c.r.BodyFile = c.beside(c.file)
	case !c.get:
		c.r.Body = []byte(strings.Join(c.data, ""))
	}
	method := http.MethodGet
	if (hasData || len(c.parts) > 0) && !c.get {
		method = http.MethodPost
	}
	if c.typed && !c.get && !c.chosen("Content-Type") {
		c.choose("Content-Type", draft.FormType)
	}
	if c.span != "" {
		c.choose("Range", "bytes="+c.span)
	}
	c.r.Method = cmp.Or(c.r.Method, method)
	c.complete()
	return nil
}

// chosen reports whether an option has set a header.
func (c *command) chosen(name string) bool {
	return slices.ContainsFunc(c.own, func(h targets.Header) bool { return h.Name == name })
}

// complete adds the headers of options that no -H has set or removed, and the notes.
func (c *command) complete() {
	for _, h := range c.own {
		switch {
		case c.given(h.Name) != nil || slices.Contains(c.removed, h.Name):
		case h.Value == "": // of -A ''
			c.removed = append(c.removed, h.Name)
		default:
			c.r.Headers = append(c.r.Headers, h)
		}
	}
	for _, name := range []string{"User-Agent", "Host"} {
		if slices.Contains(c.removed, name) && c.given(name) == nil {
			c.r.Notes = append(c.r.Notes, "curl sends no "+name+" here, and a run sends its own")
		}
	}
	if len(c.skipped) > 0 {
		c.r.Notes = append(c.r.Notes, "left out, as the request is the same without: "+strings.Join(c.skipped, ", "))
	}
}

// each returns the request for each URL of the pattern.
func (c *command) each() (all []draft.Request, err error) {
	urls := []string{c.url}
	if !c.plain {
		if urls, err = globbed(c.url); err != nil {
			return nil, c.fail("%w", err)
		}
	}
	if size := c.r.Size() * len(urls); size > workload.MostBytes {
		return nil, c.fail("its %d requests have more than the %d MiB that a workload file may have; write a smaller range", len(urls), workload.MostBytes>>20)
	}
	for _, raw := range urls {
		r := c.r
		if r.URL, err = c.absolute(raw); err != nil {
			return nil, err
		}
		if c.get && len(c.data) > 0 {
			r.URL = joined(r.URL, strings.Join(c.data, ""))
		}
		all = append(all, r)
	}
	return all, nil
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
