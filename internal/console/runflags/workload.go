package runflags

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/input/workload"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
)

// workloadHelp is the help of --workload.
const workloadHelp = "`FILE` of flows to mix, instead of --url: YAML with the steps of each flow, data files, the rate and thresholds. " +
	"loadctl workload check FILE says what it would send. See docs/workloads.md#flows"

// rateOfHelp is the help of --rate-of.
const rateOfHelp = "what the rate of --workload gives a slot to, `flows|requests`: to flows, whose later steps come as the flow says; or to each request, " +
	"so that requests per second are even whatever steps flows take. See docs/workloads.md#a-rate-of-requests"

// setRateOf sets what a slot is permission for. "" is to begin a flow.
func (f *Spec) setRateOf(s *spec.Spec) error {
	switch {
	case !slices.Contains(targets.RatesOf(), f.rateOf):
		return fmt.Errorf("--rate-of %.40q: write one of %s", f.rateOf, strings.Join(targets.RatesOf(), ", "))
	case f.workloadFile.text == "" && f.set.Changed("rate-of"):
		return errors.New("--rate-of: without flows the rate is of requests; give --workload FILE, or leave it out")
	}
	s.Target.RateOf = strings.TrimPrefix(f.rateOf, targets.RateOfFlows)
	return nil
}

// OfWorkload returns the spec of a run with --workload, and the data that it reads. qps is the value of --qps; "" leaves
// the rate to the file. rated is false if neither has one: then the rate of the spec means nothing. Its errors are errors
// of configuration.
func OfWorkload(path, qps string) (s spec.Spec, data Data, rated bool, err error) {
	f := Spec{MinWorkers: 1}
	f.AddFlags(&cobra.Command{})
	f.workloadFile.text, f.schedule.qps, f.standIn = path, qps, true
	s, err = f.Spec(strings.NewReader(""))
	return s, f.files, !f.unrated, err
}

// readWorkload reads the flows of --workload, and what else the file says. Headers, expected statuses and checks of
// flags count for all steps, as with --targets. Thresholds and data files add to those of flags.
func (f *Spec) readWorkload(s *spec.Spec) error {
	content, err := readInstead(&s.Target, spec.WorkloadFlag, f.workloadFile.text)
	if err != nil {
		return err
	}
	w, err := workload.YAML(f.workloadFile.text, content)
	if err != nil {
		return fmt.Errorf("--workload: %w", err)
	}
	if err := f.workloadData(&s.Target, w.Data); err != nil {
		return fmt.Errorf("--workload: %w", err)
	}
	s.Origin = originOf(&s.Target, spec.WorkloadFlag)
	s.Origin.Data, s.Origin.Thresholds = len(w.Data), len(w.Thresholds)
	s.Origin.Pick, s.Origin.RateOf = w.Pick, w.RateOf
	f.traceOf(s, w.Trace)
	if !f.set.Changed("targets-pick") {
		s.Target.Pick = w.Pick
	}
	if !f.set.Changed("rate-of") {
		s.Target.RateOf = w.RateOf
	}
	common := ofFlags(&s.Target)
	for _, flow := range w.Flows {
		known := flow.Known()
		for i := range flow.Steps {
			if err := common.add(s.Target, &flow.Steps[i], known[i]...); err != nil {
				return fmt.Errorf("--workload: %s: %w", flow.Places[i], err)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(flow.Columns)) {
			if err := s.Target.CheckColumn(name); err != nil {
				return fmt.Errorf("--workload: %s: %w", flow.Columns[name], err)
			}
		}
		s.Target.Flows = append(s.Target.Flows, flow.Flow)
	}
	if err := cmp.Or(f.cookies(&s.Target, w.Cookies), used(s.Target, w.Data)); err != nil {
		return fmt.Errorf("--workload: %w", err)
	}
	s.Thresholds = slices.Concat(s.Thresholds, w.Thresholds)
	return f.ofFile(s, w.Schedule)
}

// cookies gives flows cookies, if the file says so at a place.
func (f *Spec) cookies(t *targets.Spec, place string) error {
	if place == "" {
		return nil
	}
	t.Cookies = true
	if f.standIn && !f.Sends && !t.Walks() {
		t.Redirects = 1 // the run may have --redirects
	}
	if err := t.CheckCookies(); err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	return nil
}

// used checks that steps use all data files.
func used(t targets.Spec, all []workload.Data) error {
	unused := t.UnusedData()
	for _, d := range all {
		if slices.Contains(unused, d.Name) {
			return fmt.Errorf("%s: no placeholder uses %s; write ${%s.COLUMN} in a step, or leave the file out", d.Place, d.Name, d.Name)
		}
	}
	return nil
}

// workloadData reads the data files of a workload, beside those of --data.
func (f *Spec) workloadData(t *targets.Spec, all []workload.Data) error {
	if len(all) > 0 && len(t.Data)+len(all) > mostFiles { // before any is in memory
		return fmt.Errorf("%s: at most %d data files", all[0].Place, mostFiles)
	}
	for _, d := range all {
		source, err := f.files.ofWorkload(d)
		if err == nil && slices.ContainsFunc(t.Data, func(o rows.Source) bool { return o.Name == d.Name }) {
			err = fmt.Errorf("--data has a file called %.40s too; give one another name", d.Name)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.Place, err)
		}
		t.Data = append(t.Data, source)
	}
	return nil
}

// ofWorkload reads a data file of a workload. The key says its format, so the name of the file need not.
func (d *Data) ofWorkload(from workload.Data) (rows.Source, error) {
	s := rows.Source{Name: from.Name, Pick: from.Pick, Seed: from.Seed}
	name := from.Path
	if ending := strings.ToLower(filepath.Ext(name)); ending != "."+from.Format && (ending != ".ndjson" || from.Format != "jsonl") {
		name += "." + from.Format
	}
	err := d.load(&s, from.Path, name)
	if _, unread := errors.AsType[*fs.PathError](err); err != nil && !unread {
		err = fmt.Errorf("data file %.200s: %w", from.Path, err) // the error is about what is in it
	}
	return s, cmp.Or(err, s.Validate())
}

// ofFile sets the rate over time that the file says, as far as no flag says it. A slot is a flow.
func (f *Spec) ofFile(s *spec.Spec, of workload.Schedule) error {
	if !f.schedule.rules() {
		s.Stages, s.Profile, s.Concurrency, s.Max = of.Stages, of.Profile, of.Concurrency, of.Closed()
	} else if len(s.Stages) > 0 {
		of.Duration = 0 // stages have lengths
	}
	if s.Origin.Duration = of.Duration; !f.set.Changed("duration") {
		s.Duration = of.Duration
	}
	if s.Origin.Arrivals = of.Arrivals; !f.set.Changed("arrivals") {
		s.Arrivals = of.Arrivals
		if s.Arrivals != "" && (s.Max || s.HasLimiter()) {
			return fmt.Errorf("--workload: %s: arrivals: a closed loop and --limiter space requests themselves; leave it out, or add --arrivals %s",
				of.Places["arrivals"], pacer.EvenArrivals)
		}
	}
	if err := f.flowRate(s, of); err != nil {
		return err
	}
	if !f.schedule.rules() {
		s.Origin.QPS, s.Origin.Stages, s.Origin.Profile, s.Origin.Concurrency = s.QPS, s.Stages, s.Profile, s.Concurrency
	}
	place := cmp.Or(of.Places["stages"], of.Places["profile"], of.Places["concurrency"], of.Places["duration"], of.Places["rate"])
	if place == "" || f.schedule.rules() || f.unrated {
		return nil // whatever is wrong, the file does not say it
	}
	if err := s.ValidateSchedule(); err != nil {
		return fmt.Errorf("--workload: %s: %w", place, err)
	}
	return nil
}

// flowRate makes flows per second of the rate. That of the file counts if no flag says one.
func (f *Spec) flowRate(s *spec.Spec, of workload.Schedule) error {
	said := of.Rate.Num > 0 && !f.schedule.rules() // by the file
	if said {
		s.QPS = of.Rate.Rate
	}
	if said && !of.Rate.Requests && s.Target.SlotEach() {
		return fmt.Errorf("--workload: %s: it counts flows, and by rate_of each request has a slot; write rate: 480 requests/s, or give --qps, or --rate-of flows", of.Places["rate"])
	}
	switch curve := len(s.Stages) > 0 || s.Profile != ""; {
	case s.Max || curve && s.QPS.Num == 0 || said && !of.Rate.Requests:
		return nil
	case s.QPS.Num == 0 && f.standIn:
		s.QPS, f.unrated = pacer.PerSecond(1), true
		return nil
	}
	flows, err := spec.FlowRate(s.Target, s.QPS)
	if err != nil {
		return fmt.Errorf("--workload: %w", err)
	}
	s.QPS = flows
	return nil
}

// wholeFlows makes flows of --requests: a slot is a flow, and a run ends with whole ones.
func wholeFlows(s *spec.Spec) error {
	if s.Requests == 0 || !s.Target.Walks() {
		return nil
	}
	mix := s.Target.Mix()
	flows := mix.Slots(s.Requests)
	if flows == 0 {
		return fmt.Errorf("--requests %d: the first flow has %d steps; give at least so many", s.Requests, mix.Requests(1))
	}
	s.Requests = flows
	return nil
}
