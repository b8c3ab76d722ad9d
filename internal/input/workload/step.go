package workload

import (
	"net/http"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/program"
)

// steps reads the steps of a workload file.
type steps struct {
	*document
	base   string // without a slash at its end
	common Common
}

// methods are the keys that name a method and have a URL.
func methods() []string { return []string{"get", "post", "put", "patch", "delete", "head", "options"} }

// stepKeys are the keys of a step.
func stepKeys() []string {
	return append(methods(), "method", "url", "send", "reply", "at", "after", "header", "json", "body", "body_file", "form", "check", "expect", "take", "stream", "until", "stream_limit", "goals", "preset", "if", "while", "repeat", "for_each")
}

// flows reads all flows.
func (d *steps) flows(n *yaml.Node) (all []Flow, err error) {
	list, err := d.entries(n, "flows: {NAME: [{STEP: {get: URL}}]}")
	if err != nil {
		return nil, err
	}
	if len(list) > targets.MaxFlows {
		return nil, d.fail(n, "there are %d flows, at most %d; put the part that differs into a data file: see docs/workloads.md#data-files", len(list), targets.MaxFlows)
	}
	for _, e := range list {
		flow, err := d.flow(e)
		if err != nil {
			return nil, err
		}
		all = append(all, flow)
	}
	return all, nil
}

// flow reads one flow: a list of steps.
func (d *steps) flow(e entry) (flow Flow, err error) {
	const example = "a list of steps, such as - list: {get: /items}"
	flow.Name = e.key.Value
	switch {
	case flow.Name == "" || strings.ContainsFunc(flow.Name, func(r rune) bool { return r < ' ' }) || len(flow.Name) > 64:
		return flow, d.fail(e.key, "the name of a flow has 1 to 64 bytes and no line break; write another name")
	case e.value.Kind != yaml.SequenceNode || len(e.value.Content) == 0:
		return flow, d.fail(e.value, "flow %.70q is no list, or an empty one; write %s", flow.Name, example)
	}
	b := blocks{steps: d, flow: &flow, nodes: map[*program.Block]map[string]*yaml.Node{}}
	if flow.Body, err = b.list(e.value, 0); err != nil {
		return flow, err
	}
	return flow, b.compile()
}

// step reads one step.
func (d *steps) step(e entry, first bool, due *time.Duration) (s targets.Step, err error) {
	s.Name = e.key.Value
	values, err := d.settings(e.value, "the settings of the step, such as {get: /items}", stepKeys()...)
	if err != nil {
		return s, err
	}
	if err := d.request(&s, e, values); err != nil {
		return s, err
	}
	if err := d.time(&s, values, first, due); err != nil {
		return s, err
	}
	own, err := d.document.common(values)
	if err != nil {
		return s, err
	}
	s.Headers, s.Expect, s.Checks = own.Headers, own.Expect, own.Checks
	if err := d.body(&s, values); err != nil {
		return s, err
	}
	if s.Stream, err = d.stream(values); err != nil {
		return s, err
	}
	if s.Takes, err = d.takes(values["take"]); err != nil {
		return s, err
	}
	d.common.Add(&s)
	if d.size += d.common.bytes() + len(d.base); d.size > MostBytes {
		return s, d.fail(e.key, "here the steps have more than %d MiB together; make the bodies or common headers smaller", MostBytes>>20)
	}
	return s, nil
}

// request reads method and URL.
func (d *steps) request(s *targets.Step, e entry, values map[string]*yaml.Node) error {
	var given []string
	for _, name := range append(methods(), "method", "send") {
		if values[name] != nil {
			given = append(given, name)
		}
	}
	switch {
	case len(given) == 0:
		return d.fail(e.key, "step %.70q says not what to request; write get: PATH, or method: NAME and url: PATH, or send: URL", s.Name)
	case len(given) > 1:
		return d.fail(values[given[1]], "a step is one request; leave %s or %s out", given[0], given[1])
	case given[0] != "method" && values["url"] != nil:
		return d.fail(values["url"], "%s has a URL already; leave url out", given[0])
	case given[0] == "method" && values["url"] == nil:
		return d.fail(values["method"], "there is a method, and no URL; write url: PATH beside it")
	}
	at := values[given[0]]
	s.Method = strings.ToUpper(given[0])
	if given[0] == "method" {
		at = values["url"]
		var err error
		if s.Method, err = d.text(values["method"], "method: GET"); err != nil {
			return err
		}
		if s.Method == "" {
			return d.fail(values["method"], "the method is empty; write method: GET")
		}
	}
	text, err := d.text(at, given[0]+": PATH")
	if err != nil {
		return err
	}
	if s.URL, err = d.whole(at, text); err != nil {
		return err
	}
	switch sends := given[0] == "send"; {
	case sends == targets.HasHeaders(s.URL) && sends:
		return d.fail(at, "send takes a URL without methods, such as tcp://host:port; of HTTP write get or post")
	case sends == targets.HasHeaders(s.URL) && targets.Known(s.URL):
		return d.fail(at, "this scheme has no methods; write send: URL")
	case sends:
		s.Method = ""
	}
	s.Reply, err = d.text(values["reply"], "reply: until \\n")
	return err
}

// whole appends a path to the base.
func (d *steps) whole(n *yaml.Node, text string) (string, error) {
	switch {
	case absolute.MatchString(text):
		return text, nil
	case text == "" || text[0] != '/' && text[0] != '?':
		return "", d.fail(n, "is no path and no URL; begin it with / or with https://")
	case d.base == "":
		return "", d.fail(n, "a path needs a base; write base: https://host at the top of the file, or a whole URL here")
	}
	return d.base + text, nil
}

// time reads when the step is due. Without a time it follows the answer before it at once. due is the latest At before.
func (d *steps) time(s *targets.Step, values map[string]*yaml.Node, first bool, due *time.Duration) error {
	at, after := values["at"], values["after"]
	when, err := d.interval(at, "at: 2s")
	if err != nil {
		return err
	}
	random := after != nil && strings.Contains(strings.TrimSpace(after.Value), " ")
	var pause time.Duration
	if random {
		p, err := program.ParsePause(after.Value)
		if err != nil {
			return d.fail(after, "%w", err)
		}
		s.Pause, pause = strings.TrimSpace(after.Value), p.Mean
	} else if pause, err = d.interval(after, "after: 500ms"); err != nil {
		return err
	}
	switch {
	case at != nil && after != nil:
		return d.fail(after, "a step has one time; leave at or after out")
	case first && after != nil:
		return d.fail(after, "before the first step of a flow is no answer; leave after out")
	case first && when != 0:
		return d.fail(at, "the first step of a flow begins it; write at: 0s, or leave it out")
	case when < *due && at != nil:
		return d.fail(at, "is before the step above, at %v; order the steps by their times", *due)
	case at == nil && !first:
		s.After = &pause
	}
	s.At, *due = when, max(*due, when)
	return nil
}

// interval reads a time; nil is 0.
func (d *document) interval(n *yaml.Node, example string) (time.Duration, error) {
	text, err := d.text(n, example)
	if err != nil || n == nil {
		return 0, err
	}
	t, err := pacer.ParseDuration(text)
	if err != nil {
		return 0, d.fail(n, "%w", err)
	}
	return t, nil
}

// common reads header, expect and check, of a step or of all steps.
func (d *document) common(values map[string]*yaml.Node) (c Common, err error) {
	if c.Headers, err = d.headers(values["header"]); err != nil {
		return c, err
	}
	if c.Expect, err = d.text(values["expect"], "expect: 200-299"); err != nil {
		return c, err
	}
	list, err := d.texts(values["check"], "a check, or a list of checks, such as check: [status 200]")
	for _, item := range list {
		if _, err := check.Parse([]string{item.Value}); err != nil {
			return c, d.fail(item, "%w", err)
		}
		c.Checks = append(c.Checks, strings.TrimSpace(item.Value))
	}
	if err == nil {
		if _, all := check.Parse(c.Checks); all != nil { // such as one that is there twice
			err = d.fail(values["check"], "%w", all)
		}
	}
	return c, err
}

// headers reads a map of headers. A value may be a list.
func (d *document) headers(n *yaml.Node) (all []targets.Header, err error) {
	if n == nil {
		return nil, nil
	}
	const example = "header: {NAME: VALUE}"
	list, err := d.entries(n, example)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, e := range list {
		name := http.CanonicalHeaderKey(e.key.Value)
		if seen[name] {
			return nil, d.fail(e.key, "header %.40q is there already, in another case; write a list of values", e.key.Value)
		}
		seen[name] = true
		values, err := d.texts(e.value, example)
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			h, err := targets.ParseHeader(e.key.Value + ":" + v.Value)
			if err == nil && h.Name != strings.TrimSpace(e.key.Value) {
				return nil, d.fail(e.key, "the name of a header has no colon; write %s", example)
			}
			if err != nil {
				return nil, d.fail(e.key, "%w; write %s", err, example)
			}
			all = append(all, h)
		}
	}
	return all, nil
}

// takes reads what a step keeps of its answer. A regex may have slashes around it.
func (d *document) takes(n *yaml.Node) (all []targets.Take, err error) {
	if n == nil {
		return nil, nil
	}
	const example = "take: {NAME: json PATH}"
	list, err := d.entries(n, example)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		text, err := d.text(e.value, example)
		if err != nil {
			return nil, err
		}
		kind, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
		if rest = strings.TrimSpace(rest); kind == "regex" && rest != "" && (len(rest) < 2 || rest[0] != '/' || rest[len(rest)-1] != '/') {
			rest = "/" + rest + "/"
		}
		from := strings.TrimSpace(kind + " " + rest)
		if _, err := check.ParseTake(from); err != nil {
			return nil, d.fail(e.value, "%w", err)
		}
		all = append(all, targets.Take{Name: e.key.Value, From: from})
	}
	return all, nil
}

// typed gives a step the Content-Type of its body, unless it has one.
func typed(s *targets.Step, contentType string) {
	s.Headers = append(s.Headers, besides([]targets.Header{{Name: "Content-Type", Value: contentType}}, s.Headers)...)
}

// body reads the body of a step, which has one at most.
func (d *steps) body(s *targets.Step, values map[string]*yaml.Node) (err error) {
	given := ""
	for _, name := range []string{"json", "form", "body", "body_file"} {
		if values[name] == nil {
			continue
		}
		if given != "" {
			return d.fail(values[name], "a step has one body; leave %s or %s out", given, name)
		}
		given = name
	}
	n := values[given]
	grpc := targets.IsGRPC(s.URL)
	if (given == "form" || given == "json" && !grpc) && !targets.HasHeaders(s.URL) {
		return d.fail(n, "only http has types of bodies; write body: TEXT")
	}
	switch given {
	case "json":
		if !grpc {
			typed(s, "application/json")
		}
		s.Body, err = d.json(nil, n)
	case "form":
		typed(s, "application/x-www-form-urlencoded")
		s.Body, err = d.form(n)
	case "body":
		var text string
		text, err = d.text(n, "body: TEXT")
		s.Body = []byte(text)
	case "body_file":
		s.Body, err = d.bodyFile(n)
	}
	return err
}

// bodyFile reads the body from a file.
func (d *steps) bodyFile(n *yaml.Node) ([]byte, error) {
	name, err := d.file(n, "body_file: FILE")
	if err != nil {
		return nil, err
	}
	body, err := d.load(name)
	if err != nil {
		return nil, d.fail(n, "%w; give the path of a file that can be read", err)
	}
	if d.size += len(body); d.size > MostBytes {
		return nil, d.fail(n, "with this body the file has more than %d MiB; put the part that differs into a data file: see docs/workloads.md#data-files", MostBytes>>20)
	}
	return body, nil
}
