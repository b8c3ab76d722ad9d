package pacer

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// kind is how a named profile is read.
type kind struct {
	parse func(settings) (Profile, error)
	// load reads the file that a text names. It returns the settings for parse, which begin with stored. nil: the
	// profile has no file.
	load func(text string, open Open) (settings string, err error)
}

// kinds is the registry of named profiles. To add one, add a file and a line here.
func kinds() map[string]kind {
	return map[string]kind{
		"steps":  {parse: parseSteps},
		"sine":   {parse: parseSine},
		"spike":  {parse: parseSpike},
		"replay": {parse: parseReplay, load: loadReplay},
	}
}

// stored begins the settings of a profile whose file has been read.
const stored = "file="

// Open opens the file of a profile for reading, as os.Open does.
type Open func(name string) (io.ReadCloser, error)

// Profiles returns the names that ParseProfile knows, in order.
func Profiles() []string { return slices.Sorted(maps.Keys(kinds())) }

// LoadProfile returns the text of a profile with all that it needs: if the text names a file, the content that matters
// stands in what is returned, and ParseProfile reads that without the file. All other texts are returned as they are;
// ParseProfile judges them.
func LoadProfile(s string, open Open) (string, error) {
	name, rest, _ := strings.Cut(s, ":")
	load := kinds()[name].load
	if load == nil || strings.HasPrefix(rest, stored) {
		return s, nil
	}
	settings, err := load(rest, open)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return name + ":" + settings, nil
}

// ParseProfile reads a named profile with its settings, such as "steps:from=100,to=500,by=100,every=30s" or
// "sine:mean=1000,amplitude=400,period=1m". It reads no file: LoadProfile does that, and returns a text for it.
func ParseProfile(s string) (Profile, error) {
	name, rest, _ := strings.Cut(s, ":")
	kind, ok := kinds()[name]
	if !ok {
		return Profile{}, fmt.Errorf("profile %q: unknown; write one of %s", clip(s), strings.Join(Profiles(), ", "))
	}
	if kind.load != nil && !strings.HasPrefix(rest, stored) {
		return Profile{}, fmt.Errorf("profile %q: its file has not been read; LoadProfile does that", clip(s))
	}
	set, err := parseSettings(rest)
	if err != nil {
		return Profile{}, fmt.Errorf("profile %q: %w", clip(s), err)
	}
	p, err := kind.parse(set)
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
