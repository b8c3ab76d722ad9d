package run

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/loadctl/loadctl/report"
)

// index is the sorted set of all runs by the time of their creation. It is outside every run's hash tag, so no script uses it.
const index = "load:runs"

// Keys are the names of a run's keys in Redis. They share one hash tag, so they live in one slot of a cluster.
type Keys struct {
	Spec, Budget, Workers, Due, Rich, Loose, Laws, Log, Events, Totals, Snapshots, Series string // lua/state.lua
	Limiter                                                                               string // state of the run's limiter; it goes by itself
	Control                                                                               string // channel of wake-ups
	Removed                                                                               string // with :UID behind it: a run that was removed, for its workers to know
	Judge                                                                                 string // who judges the run while it goes on; it goes by itself
	Stopped                                                                               string // a run that was stopped while Redis had lost it, for its workers to know
}

// KeysOf is the keys of the run with this name.
func KeysOf(name string) Keys {
	key := func(part string) string { return "{load:" + name + "}:" + part }
	return Keys{
		Spec: key("spec"), Budget: key("budget"), Workers: key("workers"), Due: key("due"), Rich: key("rich"), Loose: key("loose"), Laws: key("laws"),
		Log: key("log"), Events: key("events"), Totals: key("totals"), Snapshots: key("snapshots"), Series: key("series"),
		Limiter: key("limiter"), Control: key("control"), Removed: key("removed"), Stopped: key("stopped"), Judge: key("judge"),
	}
}

// removed is what tells the workers of a run that it was removed and not lost.
func (k Keys) removed(uid string) string { return k.Removed + ":" + uid }

// change is the KEYS of the scripts that work on the budget.
func (k Keys) change() []string {
	return []string{k.Budget, k.Workers, k.Due, k.Rich, k.Loose, k.Laws, k.Log, k.Events}
}

// all is every key that lives as long as the run.
func (k Keys) all() []string { return append(k.change(), k.Spec, k.Totals, k.Snapshots, k.Series) }

// make is the KEYS of the script that makes a run.
func (k Keys) make() []string { return append(k.all(), k.Stopped, k.Limiter) }

// made is every key that a run may have.
func (k Keys) made() []string { return append(k.all(), k.Limiter) }

// ValidateName accepts what can be a run's name or a worker's id: 1 to 64 letters, digits, dots, dashes and underscores.
func ValidateName(what, name string) error {
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`).MatchString(name) {
		if len(name) > 40 {
			name = name[:40] + "…"
		}
		return fmt.Errorf("%s %q: use 1 to 64 letters, digits, dots, dashes and underscores, beginning with a letter or digit", what, name)
	}
	return nil
}

// ValidateNewName accepts what can be the name of a run that is created. One that ends like an archive would be taken for a file where its
// report is asked for.
func ValidateNewName(name string) error {
	err := ValidateName("run", name)
	if err == nil && strings.HasSuffix(name, report.ArchiveExtension) {
		err = fmt.Errorf("run %q: only files have names that end in %s; take another name", name, report.ArchiveExtension)
	}
	return err
}
