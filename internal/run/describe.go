package run

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/report"
)

// build is the report of what was gathered, with what the run fired at and the commands that were given to it. A report without these is
// better than none, so what cannot be read of them is a note.
func (r *Run) build(ctx context.Context, in report.Input) report.Report {
	in.Described = r.Spec.described()
	in.Described.Redis = r.serverVersion(ctx)
	var err error
	in.Described.Commands, err = r.commands(ctx)
	rep := report.Build(in)
	if err != nil {
		rep.Notes = append(rep.Notes, "the commands that were given to the run are not known: "+err.Error())
	}
	return rep
}

// described is what the spec alone tells of the run.
func (s Spec) described() report.Description {
	return report.Description{Setting: s.Setting(), CreatedBy: s.CreatedBy}
}

// serverVersion is the version of Redis, as far as the server tells.
func (r *Run) serverVersion(ctx context.Context) string {
	info, err := r.client.Info(ctx, "server").Result()
	if err != nil {
		return "" // the embedded one, or the user may not ask
	}
	for line := range strings.Lines(info) {
		if version, is := strings.CutPrefix(line, "redis_version:"); is {
			return strings.TrimSpace(version)
		}
	}
	return ""
}

// commands are the commands in the run's events, oldest first.
func (r *Run) commands(ctx context.Context) ([]report.Command, error) {
	// Not from the newest on, which workers may have no permission for.
	entries, err := r.client.XRangeN(ctx, r.keys.Events, "-", "+", 2*eventsKept).Result()
	if err != nil {
		return nil, explain("read events of", r.Name, err)
	}
	events, err := r.parseEvents(entries)
	var given []report.Command
	for _, e := range events {
		if c, is := e.command(); is {
			given = append(given, c)
		}
	}
	return given, err
}

// command is what somebody did, as the report tells it; false for what the fleet does by itself.
func (e Event) command() (c report.Command, is bool) {
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
		return c, slices.Contains([]string{"set-rate", "set-burst", "pause", "resume", "stop", "deadman"}, e.Kind)
	}
	return c, true
}
