package wire

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
)

// TestPlaceholdersAreShown: beside a password too, which is not.
func TestPlaceholdersAreShown(t *testing.T) {
	for raw, want := range map[string]string{
		"http://u:p@h:80/${random 1 2}?q=${ordinal}#@": "http://redacted@h:80/${random 1 2}?q=${ordinal}#@",
		"http://u:p%40@h/a@b/${ordinal}":               "http://redacted@h/a@b/${ordinal}",
		"http://u:p@h?x=@${ordinal}":                   "http://redacted@h?x=@${ordinal}",
		"http://h/a@b/${ordinal}":                      "http://h/a@b/${ordinal}",
	} {
		if got := (targets.Spec{URL: raw}).Redacted().URL; got != want {
			t.Errorf("%s is shown as %s, want %s", raw, got, want)
		}
	}
}

// TestFillAllocatesNothing: filling is part of sending.
func TestFillAllocatesNothing(t *testing.T) {
	w, err := New(targets.Spec{URL: "http://a/${ordinal}", Body: []byte("${uuid}${random 1 9}${now}")}, targets.Local{})
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 0, 500)
	if n := testing.AllocsPerRun(100, func() { b = w.Fill(b, targets.Call{Number: 7}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestWrongPlaceholders: a run with a wrong placeholder is not created.
func TestWrongPlaceholders(t *testing.T) {
	for want, s := range map[string]targets.Spec{
		"url: ${x}: there is no such placeholder":            {URL: "http://a/${x}"},
		"url: ${random 1}: it needs two numbers":             {URL: "http://a/${random 1}"},
		"url: ${ without }":                                  {URL: "http://a/?${uuid"},
		"header X-Y: ${x}: there is no such placeholder":     {URL: "http://a/", Headers: []targets.Header{{Name: "X-Y", Value: "secret${x}"}}},
		"body: ${name}: there is no such placeholder":        {URL: "http://a/", Body: []byte("${name}")},
		"url: placeholders may stand in path and query only": {URL: "http://${ordinal}/"},
		"header A: ${x}: there is no such placeholder":       {URL: "noop://", Headers: []targets.Header{{Name: "A", Value: "${x}"}}},
		"url: a placeholder: there is":                       {URL: "http://a/${p@ss}"},
	} {
		if err := Validate(s); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
