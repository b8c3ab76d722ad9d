package limit

import (
	"fmt"
	"strings"
)

// kind is one limiter.
type kind struct {
	name   string
	script string       // in lua/
	bursts bool         // it has a burst
	queues bool         // what it grants has to wait
	option string       // the Option it has; "" = none
	preset int64        // the value of that Option if it is not given
	most   int64        // the largest value
	fresh  func() state // in memory
}

// registry lists all limiters. To add one, add a file and a line here.
func registry() []kind {
	return []kind{
		fixedWindow(),
		slidingLog(),
		slidingList(),
		slidingWindow(),
		leakyBucket(),
		tokenBucket(),
		gcra(),
	}
}

// Names lists the limiters that New and NewSet know.
func Names() []string {
	var names []string
	for _, k := range registry() {
		names = append(names, k.name)
	}
	return names
}

func named(name string) (kind, error) {
	for _, k := range registry() {
		if k.name == name {
			return k, nil
		}
	}
	return kind{}, fmt.Errorf("limiter %.40q: there is none; take one of %s", name, strings.Join(Names(), ", "))
}

// Settings are what the scripts in lua/ need to know of a limiter.
type Settings struct {
	Script string // its name there
	Bursts bool   // it has a burst; else it counts in windows
	Queues bool   // what it grants goes one after the other
	Option int64
}

// Check returns the settings of the limiter with this name and these options, for programs that call its script
// themselves. It is an error if the limiter cannot follow the limit.
func Check(name string, l Limit, options ...Option) (Settings, error) {
	k, err := named(name)
	if err != nil {
		return Settings{}, err
	}
	_, option, err := k.settings(l, options)
	return Settings{Script: k.script, Bursts: k.bursts, Queues: k.queues, Option: option}, err
}

// settings returns limit and option of a limiter with these options.
func (k kind) settings(l Limit, options []Option) (Limit, int64, error) {
	value := k.preset
	for _, o := range options {
		switch {
		case o.apply != nil:
		case o.name == "Burst" && o.value < 1:
			return l, 0, fmt.Errorf("%s: burst of %d permits: give 1 to %d", k.name, o.value, maxCount)
		case o.name == "Burst":
			l.Burst = o.value
		case o.name != k.option:
			return l, 0, fmt.Errorf("%s: it has no option %s", k.name, o.name)
		case o.value < 1 || o.value > k.most:
			return l, 0, fmt.Errorf("%s: %s of %d: give 1 to %d", k.name, o.name, o.value, k.most)
		default:
			value = o.value
		}
	}
	if err := l.check(k.bursts); err != nil {
		return l, 0, fmt.Errorf("%s: %w", k.name, err)
	}
	return l, value, nil
}
