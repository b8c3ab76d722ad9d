package pacer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// kinds is the registry of named profiles. To add one, add a file and a line here.
func kinds() map[string]func(settings) (Profile, error) {
	return map[string]func(settings) (Profile, error){
		"steps": parseSteps,
		"sine":  parseSine,
		"spike": parseSpike,
	}
}

// Profiles returns the names that ParseProfile knows, in order.
func Profiles() []string { return slices.Sorted(maps.Keys(kinds())) }

// ParseProfile reads a named profile with its settings, such as "steps:from=100,to=500,by=100,every=30s" or
// "sine:mean=1000,amplitude=400,period=1m".
func ParseProfile(s string) (Profile, error) {
	name, rest, _ := strings.Cut(s, ":")
	parse, ok := kinds()[name]
	if !ok {
		return Profile{}, fmt.Errorf("profile %q: unknown; write one of %s", clip(s), strings.Join(Profiles(), ", "))
	}
	set, err := parseSettings(rest)
	if err != nil {
		return Profile{}, fmt.Errorf("profile %q: %w", clip(s), err)
	}
	p, err := parse(set)
	if err == nil {
		err = set.rest()
	}
	if err != nil {
		return Profile{}, fmt.Errorf("profile %q: %w", clip(s), err)
	}
	return p, nil
}

// settings are the name=value pairs of a profile. Each is used once.
type settings map[string]string

func parseSettings(s string) (settings, error) {
	set := settings{}
	for pair := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if _, twice := set[name]; !ok || twice {
			return nil, fmt.Errorf("settings are written name=value, each once, with commas between")
		}
		set[name] = value
	}
	return set, nil
}

func (s settings) rate(name string) (Rate, error) {
	v, ok := s[name]
	if !ok {
		return Rate{}, fmt.Errorf("%s=RATE is missing", name)
	}
	delete(s, name)
	return ParseRate(v)
}

func (s settings) duration(name string) (time.Duration, error) {
	v, ok := s[name]
	if !ok {
		return 0, fmt.Errorf("%s=DURATION is missing", name)
	}
	delete(s, name)
	d, err := ParseDuration(v)
	if err != nil || d < time.Millisecond {
		return 0, fmt.Errorf("%s=%s: give a duration of at least 1ms, such as 30s or 1d", name, clip(v))
	}
	return d, nil
}

func (s settings) rest() error {
	for name := range s {
		return fmt.Errorf("%s is not a setting of this profile; leave it out", clip(name))
	}
	return nil
}
