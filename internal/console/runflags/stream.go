package runflags

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// addStreamFlags adds the flags that say what the events of an answer in pieces are, and when an answer is good.
func (f *Spec) addStreamFlags(s *pflag.FlagSet) {
	o := &f.target.Stream
	s.StringVar(&o.Kind, "stream", "", "what an event of an answer in pieces is, `"+strings.Join(events.Kinds(), "|")+"`: server-sent events, lines, chunks of HTTP, "+
		"or messages of ws and gRPC. --timeout is then that of each event. See docs/streams.md")
	s.StringVar(&o.Until, "until", "", "`TEXT|/REGEX/` in the event that ends an answer of --stream (default: the end of the answer)")
	s.Var((*Size)(&o.Limit), "stream-limit", "how long an event of --stream may be, in bytes or such as 64KiB (default 1 MiB)")
	s.StringArrayVar(&o.Goals, "goal", nil, "`CONDITION` that an answer has to meet to count as good: 'first_event<500ms', 'event_gap:p(95)<80ms', 'latency<2s'; "+
		"may be repeated. See docs/streams.md#goals")
	s.StringVar(&o.Preset, "preset", "", "`"+events.OpenAI+"`: answers are those of a language model behind the API of OpenAI, so tokens are counted. See docs/streams.md#language-models")
}

// checkStream refuses flags about events that are given and say nothing: a variable of a shell may be empty.
func (f *Spec) checkStream() error {
	for _, of := range [][2]string{{"stream", "sse"}, {"until", "'[DONE]'"}, {"stream-limit", "64KiB"}, {"preset", events.OpenAI}} {
		if v := f.set.Lookup(of[0]).Value.String(); f.set.Changed(of[0]) && (v == "" || v == "0") {
			return fmt.Errorf("--%s %q: says nothing; give such as --%s %s, or leave it out", of[0], v, of[0], of[1])
		}
	}
	return nil
}

// unstreamed refuses flags about events and goals beside a file that says what is requested.
func unstreamed(s *targets.Spec, flag string) error {
	switch {
	case s.Stream.IsZero():
		return nil
	case flag == spec.WorkloadFlag:
		return fmt.Errorf("%s: the file says what answers are; leave --stream, --until, --stream-limit, --goal and --preset out, and write stream, until, stream_limit, goals and preset into its steps", flag)
	}
	return fmt.Errorf("%s: its requests have no events and no goals; leave --stream, --until, --stream-limit, --goal and --preset out, or make a --workload file of it, whose steps may have them", flag)
}
