package results

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/targets/trace"
)

// build builds the report of what was gathered, with the run's target and events. If these cannot be read, the report
// has a note: that is better than no report.
func build(ctx context.Context, r *run.Run, in report.Input) report.Report {
	in.Described = described(r)
	in.Described.Redis = serverVersion(ctx, r)
	var err error
	in.Events, err = r.AllEvents(ctx)
	in.Described.Commands = commands(in.Events)
	rep := report.Build(in)
	if err != nil {
		rep.Notes = append(rep.Notes, "the run's changes could not be read: "+err.Error())
	}
	return rep
}

// described returns what the run alone says of itself.
func described(r *run.Run) report.Description {
	d := r.Spec.Describe()
	if t := r.Spec.Target; t.Traced() {
		d.Trace = &report.Trace{Key: trace.Key(r.UID, ""), Sampled: t.TraceSampled.Float()}
	}
	return d
}

// serverVersion returns the version of Redis; "" if the server does not report it.
func serverVersion(ctx context.Context, r *run.Run) string {
	info, err := r.Client.Info(ctx, "server").Result()
	if err != nil {
		return "" // the embedded server, or the user may not ask
	}
	for line := range strings.Lines(info) {
		if version, is := strings.CutPrefix(line, "redis_version:"); is {
			return strings.TrimSpace(version)
		}
	}
	return ""
}

// commands returns the commands among events.
func commands(events []run.Event) []report.Command {
	var given []report.Command
	for _, e := range events {
		if c, is := commandOf(e); is {
			given = append(given, c)
		}
	}
	return given
}

// commandOf returns a command as the report shows it; false for what the fleet does by itself.
func commandOf(e run.Event) (c report.Command, is bool) {
	c = report.Command{At: e.At, Command: e.Kind, Who: e.Who, What: e.What}
	switch e.Kind {
	case "create":
		c.What = "" // the uid
	case "removed":
		by, _ := strings.CutPrefix(e.What, "by ")
		c.Command, c.Who, c.What = "workers rm", cmp.Or(by, "-"), e.Who
	case "start": // by the command, or by the first slot
		return c, strings.Contains(e.Who, "@")
	default:
		return c, slices.Contains([]string{"set-rate", "scale", "cap", "set-burst", "pause", "resume", "stop", "deadman"}, e.Kind)
	}
	return c, true
}
