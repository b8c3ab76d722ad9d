package render_test

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
)

// TestUnknownTokens asserts that no format shows what is not known of tokens: those of requests without a usage, and the time
// for each without a second one. A run that knows them shows both.
func TestUnknownTokens(t *testing.T) {
	unknown := regexp.MustCompile(`(?i)per.token|tpot|loadctl_tokens\{[^}]*direction="in"|tokens\.in\b|"tokens":\s*\{\s*"in"|\bin 0,`)
	known, terse := report.Build(reporttest.Streamed(reporttest.Run(t))), report.Build(reporttest.Terse(reporttest.Run(t)))
	if s := terse.Streams; s.Tokens.Out != s.Answers || s.Tokens.Usages != 0 || s.Tokens.In != 0 {
		t.Fatalf("%+v", s)
	}
	for _, format := range []string{"text", "json", "junit", "markdown", "openmetrics", "hlog", "html"} {
		write, err := render.Format(format)
		if err != nil {
			t.Fatal(err)
		}
		var of [2]bytes.Buffer
		for i, r := range []report.Report{known, terse} {
			if err := write(&of[i], r); err != nil {
				t.Fatal(err)
			}
		}
		if !unknown.Match(of[0].Bytes()) {
			t.Errorf("%s: the run with tokens does not show them", format)
		}
		if found := unknown.FindAll(of[1].Bytes(), -1); found != nil {
			t.Errorf("%s: %q", format, found)
		}
	}
}

// TestChangesOfTheRun asserts that the page of a run whose answers have events calls what happened to the run by another word, in
// its headings and links.
func TestChangesOfTheRun(t *testing.T) {
	var page bytes.Buffer
	if err := render.HTML(&page, report.Build(reporttest.Streamed(reporttest.TenMinutes(t, 60)))); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<a href="#events">Changes</a>`, ">Changes</h2>", ">change</th>"} {
		if !bytes.Contains(page.Bytes(), []byte(want)) {
			t.Errorf("the page has no %s", want)
		}
	}
	if found := regexp.MustCompile(`>[Ee]vents</(h2|a|caption)>|>event</th>`).FindAll(page.Bytes(), -1); found != nil {
		t.Errorf("%q", found)
	}
}
