package show_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/report/samples/show"
)

var update = flag.Bool("update", false, "write the golden files")

// selection returns the samples that tests of reports share.
func selection(t *testing.T) show.Selection {
	t.Helper()
	r := report.Build(reporttest.Sampled(reporttest.Run(t)))
	return show.Selection{Run: r.Run, Samples: r.Samples, Program: "loadctl", Version: "1.2.3"}
}

// rendered returns a selection in a format, as a terminal gets it.
func rendered(t *testing.T, format string, s show.Selection) string {
	t.Helper()
	render, err := show.Formats().Renderer(format)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := render(&text, s); err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	if _, err := printable.NewWriter(&shown).Write(text.Bytes()); err != nil || format != "text" && shown.String() != text.String() {
		t.Errorf("%s: the filter of terminals changes it: %v\n%q\n%q", format, err, shown.String(), text.String())
	}
	return text.String()
}

// TestGolden: each format is as in testdata. `go test -update` rewrites the files.
func TestGolden(t *testing.T) {
	whole := selection(t)
	whole.Whole = true
	all := map[string]string{"samples.full.txt": rendered(t, "text", whole)}
	for _, f := range show.Formats() {
		all["samples"+f.Ending] = rendered(t, f.Name, selection(t))
	}
	for name, got := range all {
		if *update {
			if err := os.WriteFile("testdata/"+name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile("testdata/" + name)
		if err != nil || got != string(want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// TestJSONReadsBack: the samples in JSON are those of the report.
func TestJSONReadsBack(t *testing.T) {
	s, back := selection(t), show.Selection{}
	if err := json.Unmarshal([]byte(rendered(t, "json", s)), &back); err != nil || back.Run != "checkout" || !reflect.DeepEqual(back.Samples, s.Samples) {
		t.Errorf("%v\n%+v", err, back)
	}
	if none := rendered(t, "json", show.Selection{Run: "x", Samples: []samples.Sample{}}); !strings.Contains(none, `"samples": []`) {
		t.Error(none)
	}
}

// TestTextIsOneRowEach: texts of servers add no lines to the table, and begin none of a sample in full.
func TestTextIsOneRowEach(t *testing.T) {
	evil := "a\nrequest     9 of worker w\x1b[2J\r\n\u202e<script>"
	s := samples.Sample{
		Worker: evil, Step: evil, Flow: evil, Class: evil, Error: evil, TraceID: evil, URL: evil, Why: []string{evil}, Connection: samples.Connection{Remote: evil},
		Request:  &samples.Message{Start: evil, Headers: []samples.Header{{Name: evil, Value: evil}}, Body: evil},
		Response: &samples.Message{Start: evil, Headers: []samples.Header{{Name: evil, Value: evil}}, Body: evil, Hex: true},
		Checks:   []samples.Check{{Check: evil, Got: evil}},
	}
	one := show.Selection{Run: evil, Samples: []samples.Sample{s}}
	if text := rendered(t, "text", one); strings.Count(text, "\n") != 2 || strings.ContainsAny(text, "\x1b\r\u202e") {
		t.Errorf("%q", text)
	}
	one.Whole = true
	if text := rendered(t, "text", one); strings.Count("\n"+text, "\nrequest ") != 1 || strings.ContainsAny(text, "\x1b\r\u202e") {
		t.Errorf("%q", text)
	}
	for line := range strings.SplitSeq(rendered(t, "curl", one), "\n") {
		if line != "" && !strings.HasPrefix(line, "# ") {
			t.Errorf("a command: %q", line)
		}
	}
}

// TestChoose asserts which samples a filter keeps, and what it says of names that none has.
func TestChoose(t *testing.T) {
	all := selection(t).Samples
	all[2].Step, all[1].Step = "pay", "list"
	number, unknown := uint64(330), uint64(4)
	for _, c := range []struct {
		filter show.Filter
		want   []uint64
		says   string
	}{
		{show.Filter{}, []uint64{100, 251, 330, 331}, ""},
		{show.Filter{Class: "status"}, []uint64{100}, ""},
		{show.Filter{Step: "pay"}, []uint64{330}, ""},
		{show.Filter{Slowest: true}, []uint64{251, 330, 331, 100}, ""},
		{show.Filter{Ordinal: &number}, []uint64{330}, ""},
		{show.Filter{Class: "dial"}, nil, `--class "dial": samples have status, timeout`},
		{show.Filter{Step: "dial"}, nil, `--step "dial": samples have list, pay`},
		{show.Filter{Class: "status", Step: "pay"}, nil, `--class "status": no sample of step "pay" has it; leave one of them out`},
		{show.Filter{Ordinal: &unknown}, nil, "--ordinal 4: no such sample was kept; the table without --ordinal lists all"},
	} {
		got, err := c.filter.Choose(all)
		var ordinals []uint64
		for _, s := range got {
			ordinals = append(ordinals, s.Ordinal)
		}
		if !reflect.DeepEqual(ordinals, c.want) || c.says == "" && err != nil || c.says != "" && (err == nil || err.Error() != c.says) {
			t.Errorf("%+v: %v, %v", c.filter, ordinals, err)
		}
	}
	good := []samples.Sample{{Ordinal: 1}}
	if none, err := (show.Filter{Class: "status"}).Choose(good); err != nil || len(none) > 0 {
		t.Error(err)
	}
	if got, err := (show.Filter{Class: "status"}).Choose(nil); err != nil || got == nil || len(got) != 0 {
		t.Error(got, err)
	}
}

// TestStatusOfGRPC: people read the name of a status of gRPC, as everywhere.
func TestStatusOfGRPC(t *testing.T) {
	s := show.Selection{Run: "x", Samples: []samples.Sample{{Worker: "w", Why: []string{samples.First}, Class: "status", Status: "NOT_FOUND", URL: "grpc://h/a.B/C"}}}
	if text := rendered(t, "text", s); !strings.Contains(text, "  NOT_FOUND  ") {
		t.Error(text)
	}
	s.Whole = true
	if text := rendered(t, "text", s); !strings.Contains(text, "\nresult      failed, class status, status NOT_FOUND\n") {
		t.Error(text)
	}
}
