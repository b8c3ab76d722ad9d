package workload

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/events"
)

// stream reads what the events of a step's answer are, and which goals it has to meet.
func (d *document) stream(values map[string]*yaml.Node) (o events.Options, err error) {
	for _, t := range []struct {
		key, example string
		to           *string
	}{{"stream", "stream: sse", &o.Kind}, {"preset", "preset: openai", &o.Preset}, {"until", `until: "[DONE]"`, &o.Until}} {
		n := values[t.key]
		if *t.to, err = d.text(n, t.example); err != nil {
			return o, err
		}
		if n != nil && *t.to == "" {
			return o, d.fail(n, "is empty; write %s, or leave it out", t.example)
		}
	}
	if o.Limit, err = d.streamLimit(values["stream_limit"]); err != nil {
		return o, err
	}
	goals, err := d.texts(values["goals"], `a list, such as goals: ["first_event<500ms"]`)
	if err != nil {
		return o, err
	}
	for _, item := range goals {
		if _, err := events.ParseGoal(item.Value); err != nil {
			return o, d.fail(item, "%w; see docs/streams.md#goals", err)
		}
		o.Goals = append(o.Goals, item.Value)
	}
	if _, err := events.Parse(o); err != nil {
		return o, d.fail(blamed(err, values), "%w; see docs/streams.md", err)
	}
	return o, nil
}

// streamLimit reads how long an event may be, in bytes.
func (d *document) streamLimit(n *yaml.Node) (int64, error) {
	text, err := d.text(n, "stream_limit: 64KiB")
	if err != nil || n == nil {
		return 0, err
	}
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		size, err = check.ParseSize(text)
	}
	if err != nil || size < 1 {
		return 0, d.fail(n, "%.40q is no number of bytes; write 1000000, or a whole number with B, kB, MB, KiB or MiB, such as 1MB", text)
	}
	return size, nil
}

// blamed returns the value that an error of events.Parse is about: it begins with its name.
func blamed(err error, values map[string]*yaml.Node) *yaml.Node {
	name, _, _ := strings.Cut(err.Error(), ":")
	for _, key := range []string{map[string]string{"stream limit": "stream_limit", "goal": "goals"}[name], name, "until", "stream_limit", "stream"} {
		if values[key] != nil {
			return values[key]
		}
	}
	return values["preset"]
}
