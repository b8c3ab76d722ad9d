package workload

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
)

// A Workload is what a workload file says.
type Workload struct {
	Schedule
	Data       []Data
	Pick       string // in which order flows come, targets.PickRandom; "" = in a cycle
	RateOf     string // what a slot is permission for, targets.RateOfRequests; "" = to begin a flow
	Flows      []Flow // at least one, each with at least one step
	Thresholds []string
	Cookies    string // FILE:LINE:COLUMN of cookies: true; "" = flows have no cookies
	Trace      Trace
}

// Data is a data file.
type Data struct {
	Name   string
	Path   string // as os.Open takes it
	Format string // csv, tsv or jsonl
	Pick   string // of rows.Picks
	Seed   uint64 // 0 = none was given
	Place  string // FILE:LINE:COLUMN
}

// A Flow is one flow with the places of its steps.
type Flow struct {
	targets.Flow
	Places  []string          // FILE:LINE:COLUMN, for each step
	Columns map[string]string // columns of data files that its expressions use: FILE:LINE:COLUMN of the first use
}

// YAML reads a workload file. JSON is YAML too.
//
//	base: https://shop.test
//	rate: 400 flows/s
//	flows:
//	  browse:
//	    - list: {get: "/items/${random 1 100}", check: status 200}
//
// Bodies are read from files beside it, data files are not. An error is one line, FILE:LINE:COLUMN: what is wrong; what
// to do. It shows keys and names, but no values that may be secrets. Whether the steps are valid requests is for
// wire.CheckStep to say. Time and memory are bounded by the size of the file, at most MostBytes: aliases are expanded to
// as many bytes, and to a million values.
func YAML(path string, content []byte) (Workload, error) {
	d := &document{reader: reader{path: path}}
	if err := d.read(content); err != nil {
		return Workload{}, err
	}
	return d.workload()
}

// workload reads the keys of the file.
func (d *document) workload() (w Workload, err error) {
	values, err := d.settings(d.root, `a map with flows, such as flows: {browse: [{list: {get: "http://host/path"}}]}`,
		"base", "rate", "rate_of", "data", "mix", "pick", "flows", "stages", "profile", "concurrency", "duration", "arrivals", "thresholds", "cookies", "trace", "trace_sampled", "header", "check", "expect")
	if err != nil {
		return w, err
	}
	if values["flows"] == nil {
		return w, d.fail(d.root, "there are no flows; write flows: {NAME: [{STEP: {get: URL}}]}")
	}
	of := steps{document: d}
	if of.base, err = d.base(values["base"]); err != nil {
		return w, err
	}
	if of.common, err = d.common(values); err != nil {
		return w, err
	}
	if w.Schedule, err = d.schedule(values); err != nil {
		return w, err
	}
	if w.Data, err = d.data(values["data"]); err != nil {
		return w, err
	}
	if w.Flows, err = of.flows(values["flows"]); err != nil {
		return w, err
	}
	if err := d.closedLoop(w); err != nil {
		return w, err
	}
	if err := d.mix(values["mix"], w.Flows); err != nil {
		return w, err
	}
	if w.Cookies, err = d.cookies(values["cookies"]); err != nil {
		return w, err
	}
	if w.Trace, err = d.trace(values["trace"], values["trace_sampled"]); err != nil {
		return w, err
	}
	if w.Pick, err = d.order(values["pick"]); err != nil {
		return w, err
	}
	if w.RateOf, err = d.rateOf(values["rate_of"]); err != nil {
		return w, err
	}
	w.Thresholds, err = d.thresholds(values["thresholds"], w.Flows)
	return w, err
}

// cookies returns where the file says that flows have cookies.
func (d *document) cookies(n *yaml.Node) (place string, err error) {
	given, err := d.given(n, "cookies: true")
	if given {
		place = d.place(n)
	}
	return place, err
}

// given reports whether a value is true, and not false or absent.
func (d *document) given(n *yaml.Node, example string) (bool, error) {
	switch {
	case n == nil:
		return false, nil
	case n.Kind != yaml.ScalarNode || n.Tag != "!!bool":
		return false, d.fail(n, "is neither true nor false; write %s, or leave it out", example)
	}
	return strings.EqualFold(n.Value, "true"), nil
}

// absolute matches the beginning of a URL with a scheme.
var absolute = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// base returns the URL that paths are appended to.
func (d *document) base(n *yaml.Node) (string, error) {
	base, err := d.text(n, "base: https://host")
	if err == nil && n != nil && (!absolute.MatchString(base) || strings.ContainsAny(base, "?#")) {
		err = d.fail(n, "the base is no URL without query; write base: https://host, or base: https://host/path")
	}
	return strings.TrimRight(base, "/"), err
}

// data returns the data files.
func (d *document) data(n *yaml.Node) (all []Data, err error) {
	if n == nil {
		return nil, nil
	}
	list, err := d.entries(n, "data: {users: {csv: users.csv}}")
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		one, err := d.source(e.value)
		if err != nil {
			return nil, err
		}
		one.Name, one.Place = e.key.Value, d.place(e.key)
		all = append(all, one)
	}
	return all, nil
}

// place returns where a value stands.
func (d *document) place(n *yaml.Node) string {
	return fmt.Sprintf("%s:%d:%d", d.path, n.Line, n.Column)
}

// source returns one data file.
func (d *document) source(n *yaml.Node) (s Data, err error) {
	const example = "{csv: FILE}, {tsv: FILE} or {jsonl: FILE}, and pick: cycle, once, shuffle or random"
	values, err := d.settings(n, example, "csv", "tsv", "jsonl", "pick", "seed")
	if err != nil {
		return s, err
	}
	for _, format := range []string{"csv", "tsv", "jsonl"} {
		file := values[format]
		if file == nil {
			continue
		}
		if s.Format != "" {
			return s, d.fail(file, "a data file has one format; leave %s or %s out", s.Format, format)
		}
		path, err := d.file(file, format+": FILE")
		if err != nil {
			return s, err
		}
		s.Format, s.Path = format, d.beside(path)
	}
	if s.Format == "" {
		return s, d.fail(n, "there is no file; write %s", example)
	}
	return s, d.pick(&s, values["pick"], values["seed"])
}

// pick reads how rows are chosen.
func (d *document) pick(s *Data, pick, seed *yaml.Node) (err error) {
	s.Pick = rows.Cycle
	if pick != nil {
		if s.Pick, err = d.text(pick, "pick: once"); err == nil && !slices.Contains(rows.Picks(), s.Pick) {
			err = d.fail(pick, "there is no pick %.20q; %swrite one of %s", s.Pick, meant(s.Pick, rows.Picks()), strings.Join(rows.Picks(), ", "))
		}
	}
	if err != nil || seed == nil {
		return err
	}
	text, err := d.text(seed, "seed: 1")
	if err != nil {
		return err
	}
	if s.Seed, err = strconv.ParseUint(text, 10, 53); err != nil || s.Seed == 0 {
		return d.fail(seed, "seed %.20q is no whole number from 1 on; write such as seed: 1", text)
	}
	if s.Pick != rows.Shuffle && s.Pick != rows.Random {
		return d.fail(seed, "pick %s has no seed, only shuffle and random have; leave it out", s.Pick)
	}
	return nil
}

// mix gives the flows their weights. Without a mix they are equal.
func (d *document) mix(n *yaml.Node, flows []Flow) error {
	if n == nil {
		return nil
	}
	list, err := d.entries(n, "mix: {FLOW: WEIGHT}")
	if err != nil {
		return err
	}
	of := map[string]*Flow{}
	var names []string
	for i := range flows {
		of[flows[i].Name] = &flows[i]
		names = append(names, flows[i].Name)
	}
	for _, e := range list {
		flow := of[e.key.Value]
		if flow == nil {
			return d.fail(e.key, "there is no flow %.70q; %swrite it below flows, or leave it out here", e.key.Value, meant(e.key.Value, names))
		}
		text, err := d.text(e.value, "a weight, such as "+flow.Name+": 1")
		if err != nil {
			return err
		}
		if flow.Weight, err = strconv.ParseInt(text, 10, 64); err != nil || flow.Weight < 1 || flow.Weight > targets.MaxWeight {
			return d.fail(e.value, "weight %.20q is out of range; write a whole number from 1 to %d", text, targets.MaxWeight)
		}
	}
	if i := slices.IndexFunc(flows, func(f Flow) bool { return f.Weight == 0 }); i >= 0 {
		return d.fail(n, "the mix has no weight of flow %.70q; write it, or leave the whole mix out for equal weights", flows[i].Name)
	}
	return nil
}

// order returns in which order flows come.
func (d *document) order(n *yaml.Node) (string, error) {
	pick, err := d.text(n, "pick: random")
	switch {
	case err != nil || n == nil || pick == targets.PickCycle:
		return "", err
	case !slices.Contains(targets.Picks(), pick):
		return "", d.fail(n, "there is no pick %.20q of flows; %swrite one of %s", pick, meant(pick, targets.Picks()), strings.Join(targets.Picks(), ", "))
	}
	return pick, nil
}

// rateOf returns what a slot is permission for.
func (d *document) rateOf(n *yaml.Node) (string, error) {
	of, err := d.text(n, "rate_of: requests")
	switch {
	case err != nil || n == nil || of == targets.RateOfFlows:
		return "", err
	case !slices.Contains(targets.RatesOf(), of):
		return "", d.fail(n, "there is no rate_of %.20q; %swrite one of %s", of, meant(of, targets.RatesOf()), strings.Join(targets.RatesOf(), ", "))
	}
	return of, nil
}

// thresholds returns the conditions that the run has to meet.
func (d *document) thresholds(n *yaml.Node, flows []Flow) (all []string, err error) {
	var of targets.Spec
	for _, f := range flows {
		of.Flows = append(of.Flows, f.Flow)
	}
	steps := of.StepNames()
	list, err := d.texts(n, `a list, such as thresholds: ["errors:rate<1%"]`)
	for _, item := range list {
		t, err := threshold.Parse(item.Value)
		if err != nil {
			return nil, d.fail(item, "%w; see docs/report.md#thresholds", err)
		}
		if t.Step != "" && !slices.Contains(steps, t.Step) {
			return nil, d.fail(item, "there is no step %.70q; %swrite the name of one, or leave {step=…} out", t.Step, meant(t.Step, steps))
		}
		if lack := of.Lacks(t.Metric, t.Step); lack != "" {
			return nil, d.fail(item, "%s", lack)
		}
		all = append(all, item.Value)
	}
	return all, err
}
