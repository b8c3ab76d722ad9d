package run

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/loadctl/loadctl/report"
)

// index is the sorted set of all runs by the time of their creation. No script uses it, as it is outside every run's
// hash tag.
const index = "load:runs"

// Keys are the names of a run's keys in Redis. They share one hash tag, so they are in one slot of a cluster.
type Keys struct {
	Spec, Budget, Workers, Due, ByLoad, Unowned, Laws, Log, Events, Totals, Snapshots, Series string // lua/state.lua
	Data                                                                                      string // data files by their SHA-256; there is none if the run has no data files
	// State of the run's limiter; it expires by itself.
	Limiter string
	Control string // channel of wake-ups
	// Followed by :UID: a note to workers that a run was removed.
	Removed string
	// Answers to the queries of the run, by points of its series (lua/value.lua); there is none without queries.
	Values string
	// Requests that workers kept as evidence, by worker/incarnation (lua/samples.lua).
	Samples string
	// Who judges the run while it is active; it expires by itself.
	Judge string
	// Who keeps the run's rights; it expires by itself.
	Keeper string
	// A note to workers that a run was stopped while Redis had lost it.
	Stopped string
}

// KeysOf returns the keys of the run with this name.
func KeysOf(name string) Keys {
	key := func(part string) string { return "{load:" + name + "}:" + part }
	return Keys{
		Spec: key("spec"), Budget: key("budget"), Workers: key("workers"), Due: key("due"), ByLoad: key("byload"), Unowned: key("unowned"), Laws: key("laws"),
		Log: key("log"), Events: key("events"), Totals: key("totals"), Snapshots: key("snapshots"), Series: key("series"),
		Data: key("data"), Limiter: key("limiter"), Control: key("control"), Removed: key("removed"), Stopped: key("stopped"), Judge: key("judge"), Values: key("values"), Samples: key("samples"), Keeper: key("keeper"),
	}
}

// RemovedOf returns the key by which the workers see of a run that it was removed and not lost.
func (k Keys) RemovedOf(uid string) string { return k.Removed + ":" + uid }

// Change returns the KEYS of the scripts that work on the budget.
func (k Keys) Change() []string {
	return []string{k.Budget, k.Workers, k.Due, k.ByLoad, k.Unowned, k.Laws, k.Log, k.Events}
}

// All returns every key that lives as long as the run.
func (k Keys) All() []string {
	return append(k.state(), k.Values, k.Samples)
}

// state returns all of them but what judges and samples add.
func (k Keys) state() []string {
	return append(k.Change(), k.Spec, k.Totals, k.Snapshots, k.Series, k.Data)
}

// Make returns the KEYS of the script that makes a run.
func (k Keys) Make() []string { return append(k.state(), k.Stopped, k.Limiter, k.Values, k.Samples) }

// ValidateName accepts the name of a run or the id of a worker: 1 to 64 letters, digits, dots, dashes and
// underscores.
func ValidateName(what, name string) error {
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`).MatchString(name) {
		if len(name) > 40 {
			name = name[:40] + "…"
		}
		return fmt.Errorf("%s %q: use 1 to 64 letters, digits, dots, dashes and underscores, beginning with a letter or digit", what, name)
	}
	return nil
}

// ValidateNewName accepts the name of a new run. A name with the extension of an archive is refused: where a report
// is asked for it would be taken for a file.
func ValidateNewName(name string) error {
	err := ValidateName("run", name)
	if err == nil && strings.HasSuffix(name, report.ArchiveExtension) {
		err = fmt.Errorf("run %q: only files have names that end in %s; take another name", name, report.ArchiveExtension)
	}
	return err
}
