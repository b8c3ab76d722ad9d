package member

import (
	"net/url"
	"strings"

	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/redact"
	"github.com/loadctl/loadctl/targets/trace"
)

// Evidence returns what a worker of a run keeps of some requests; nil = nothing. local has the values of this machine that
// must not be shown.
func Evidence(s spec.Spec, local targets.Local) *worker.Evidence {
	if !s.Samples() {
		return nil
	}
	e := &worker.Evidence{Body: s.SampledBody()}
	steps := s.Target.Steps()
	if mix := s.Target.Mix(); mix != nil {
		e.Steps = pooled(mix.Names())
		for _, f := range s.Target.Flows {
			for range f.Steps {
				e.Flows = append(e.Flows, f.Name)
			}
		}
	}
	secrets := redact.New(s.Target, s.Redact)
	cells := secrets.Cells(s.Target, local.Tables)
	e.Redact = func(x *targets.Exchange, c targets.Call) (sent, came bool) {
		return secrets.Exchange(x, redact.Known{
			Taken: c.Session.Taken(), Names: steps[c.Step].Taken(), Cells: cells(c.Row()), Secrets: local.Credential.Secrets(),
		})
	}
	if s.Target.Traced() {
		ids := trace.New(local.Trace)
		e.Trace = func(number uint64) string { return ids.Text(number) }
		if s.Target.TraceSampled > 0 {
			e.Traced = s.Target.TraceSampled.Sampled
		}
	}
	e.URL = func(c targets.Call, x *targets.Exchange) string { return urlOf(steps[c.Step].URL, x) }
	return e
}

// pooled returns names as the counts have them: those after the first ones are one.
func pooled(names []string) []string {
	seen := map[string]bool{}
	for i, name := range names {
		if !seen[name] && len(seen) >= record.MaxSteps {
			names[i] = record.OtherStep
			continue
		}
		seen[name] = true
	}
	return names
}

// urlOf returns where a request went, without secrets. template is the URL as the run has it, and x what was sent, redacted.
func urlOf(template string, x *targets.Exchange) string {
	scheme, rest, _ := strings.Cut(targets.RedactURL(template), "://")
	if own, _, _ := strings.Cut(x.Sent.Start, "://"); strings.EqualFold(own, scheme) { // of a scheme that is not ours: the URL itself
		return x.Sent.Start
	}
	part := strings.Fields(x.Sent.Start)
	if len(part) != 3 {
		return targets.RedactURL(template)
	}
	if x.Scheme != "" && strings.HasPrefix(scheme, "http") {
		scheme = x.Scheme
	}
	host, _, _ := strings.Cut(rest, "/")
	host = host[strings.LastIndex(host, "@")+1:]
	for _, h := range x.Sent.Headers {
		if strings.EqualFold(h.Name, "Host") {
			host = h.Value
		}
	}
	u, err := url.Parse(scheme + "://" + host)
	if err != nil {
		return targets.RedactURL(template)
	}
	return u.String() + part[1]
}
