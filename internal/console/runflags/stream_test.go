package runflags

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// asking is a body that asks a language model for an answer in pieces.
const asking = `{"model": "m", "stream": true}`

// TestStreamFlags: what flags say of events and goals, and what a preset adds.
func TestStreamFlags(t *testing.T) {
	_, s, err := reading(t, "--qps", "5", "--url", "http://a/", "--stream", "lines", "--until", "/^end$/", "--stream-limit", "64KiB", "--goal", "first_event<500ms", "--goal", "event_gap:p(95)<80ms")
	want := events.Options{Kind: "lines", Until: "/^end$/", Limit: 64 << 10, Goals: []string{"first_event<500ms", "event_gap:p(95)<80ms"}}
	if err != nil || !reflect.DeepEqual(s.Target.Stream, want) {
		t.Errorf("%+v, %v", s.Target.Stream, err)
	}
	for _, c := range []struct {
		args []string
		kind string
	}{
		{nil, "application/json"},
		{[]string{"-H", "content-type: application/x"}, "application/x"},
	} {
		_, s, err := reading(t, append(c.args, "--qps", "5", "--url", "http://a/v1/chat/completions", "--preset", "openai", "-d", `{"stream": true, "max_tokens": ${random 1 9}}`)...)
		if err != nil {
			t.Fatal(err)
		}
		if got := targets.HeaderValues(s.Target.Headers, "Content-Type"); len(got) != 1 || got[0] != c.kind || s.Target.EffectiveMethod() != "POST" {
			t.Errorf("%q: %s %q", c.args, s.Target.EffectiveMethod(), got)
		}
	}
}

// TestBadStreamFlags: each mistake has one line that says what to do.
func TestBadStreamFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--stream", "ses"}, `stream: "ses" is unknown; write sse, lines, chunks, messages`},
		{[]string{"--until", "x"}, "stream: is missing; say what an event is: sse, lines, chunks, messages"},
		{[]string{"--stream-limit", "5"}, "stream: is missing; say what an event is: sse, lines, chunks, messages"},
		{[]string{"--stream", "sse", "--stream-limit", "2000000000"}, "stream limit: give a size from 1 B to 1 GiB, such as 64KiB"},
		{[]string{"--stream", "sse", "--until", "/x"}, "until: a pattern stands between two slashes, such as /done$/ or /(?i)done$/"},
		{[]string{"--stream", "chunks", "--until", "x"}, "until: a chunk may end anywhere in a text; use lines or sse, or leave it out"},
		{[]string{"--stream", "messages"}, "stream: there is no messages over this protocol; write sse or lines or chunks"},
		{[]string{"--stream", "sse", "--method", "HEAD"}, "stream: an answer to HEAD has no body; choose another method"},
		{[]string{"--goal", "fast"}, `goal "fast": write METRIC<TIME, such as first_event<500ms or event_gap:p(95)<80ms; there are first_event (ttft), first_event_service, stream, per_token (tpot), latency, service, first_byte, and of event_gap (itl) p(N), max and avg`},
		{[]string{"--goal", "latency<5"}, `goal "latency<5": the limit is a time above 0 with its unit, such as 500ms`},
		{[]string{"--goal", "latency:p(95)<1s"}, `goal "latency:p(95)<1s": an answer has one such time; leave the aggregate out`},
		{[]string{"--goal", "event_gap<1s"}, `goal "event_gap<1s": an answer has many gaps; write event_gap:p(95), event_gap:max or event_gap:avg`},
		{[]string{"--goal", "event_gap:p(101)<1s"}, `goal "event_gap:p(101)<1s": a percentile is above 0 and at most 100`},
		{[]string{"--goal", "first_event<1s"}, `goal "first_event<1s": the answers have no events; say what an event is with the stream: sse, lines, chunks`},
		{[]string{"--goal", "tpot<1s"}, `goal "tpot<1s": the answers have no tokens; add the preset openai`},
		{[]string{"--stream", ""}, `--stream "": says nothing; give such as --stream sse, or leave it out`},
		{[]string{"--stream", "sse", "--until", ""}, `--until "": says nothing; give such as --until '[DONE]', or leave it out`},
		{[]string{"--stream", "sse", "--stream-limit", "0"}, `--stream-limit "0": says nothing; give such as --stream-limit 64KiB, or leave it out`},
		{[]string{"--preset", ""}, `--preset "": says nothing; give such as --preset openai, or leave it out`},
		{[]string{"--preset", "x"}, `preset: "x" is unknown; write openai, for any server with its API`},
		{[]string{"--preset", "openai", "--stream", "lines", "-d", asking}, "preset: its answers are server-sent events; leave the stream out"},
		{[]string{"--preset", "openai"}, `preset openai: the body does not ask for an answer in pieces; add "stream": true to it`},
		{[]string{"--preset", "openai", "-d", `{"model": "m"}`}, `preset openai: the body does not ask for an answer in pieces; add "stream": true to it`},
		{[]string{"--preset", "openai", "-d", `{"stream": false}`}, `preset openai: the body does not ask for an answer in pieces; add "stream": true to it`},
	} {
		_, _, err := reading(t, append(c.args, "--qps", "5", "--url", "http://a/")...)
		if err == nil || err.Error() != c.want || cli.Code(err) != cli.CodeConfig {
			t.Errorf("%q: %v, want %s", c.args, err, c.want)
		}
	}
}

// TestStreamOfFiles: a file says it of each step, and a mistake there has a place. Flags beside it are refused.
func TestStreamOfFiles(t *testing.T) {
	dir := folder(t, map[string]string{
		"w.yaml":      "flows: {f: [a: {post: 'http://a/', json: {stream: true}, preset: openai, goals: [ttft<1s]}, b: {get: 'http://a/', goals: latency<1s}]}",
		"no.yaml":     "flows:\n  f:\n  - a: {post: 'http://a/', preset: openai, json: {model: m}}",
		"chunks.yaml": "flows: {f: [a: {send: 'tcp://a:1', stream: lines, body: x}]}",
		"t.txt":       "GET http://a/",
	})
	_, s, err := reading(t, "--qps", "5", "--workload", filepath.Join(dir, "w.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := []targets.Step{{Stream: events.Options{Preset: "openai", Goals: []string{"ttft<1s"}}}, {Stream: events.Options{Goals: []string{"latency<1s"}}}}
	for i, step := range s.Target.Flows[0].Steps {
		if !reflect.DeepEqual(step.Stream, want[i].Stream) {
			t.Errorf("step %d: %+v", i, step.Stream)
		}
	}
	for _, c := range []struct {
		flag, file, want string
		more             []string
	}{
		{spec.WorkloadFlag, "no.yaml", "--workload: " + dir + `/no.yaml:3:5: preset openai: the body does not ask for an answer in pieces; add "stream": true to it`, nil},
		{spec.WorkloadFlag, "chunks.yaml", "--workload: " + dir + "/chunks.yaml:1:13: stream: only http, grpc and ws have answers in pieces; leave it out", nil},
		{spec.WorkloadFlag, "w.yaml", "--workload: the file says what answers are; leave --stream, --until, --stream-limit, --goal and --preset out, and write stream, until, stream_limit, goals and preset into its steps", []string{"--goal", "latency<1s"}},
		{spec.TargetsFlag, "t.txt", "--targets: its requests have no events and no goals; leave --stream, --until, --stream-limit, --goal and --preset out, or make a --workload file of it, whose steps may have them", []string{"--stream", "sse"}},
	} {
		_, _, err := reading(t, append(c.more, "--qps", "5", c.flag, filepath.Join(dir, c.file))...)
		if err == nil || err.Error() != c.want || cli.Code(err) != cli.CodeConfig {
			t.Errorf("%s: %v, want %s", c.file, err, c.want)
		}
	}
}
