package targets

import (
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/rows"
)

// shopFlow is a flow whose second step needs what the first one takes.
func shopFlow(url string) Spec {
	after := time.Second
	return Spec{Flows: []Flow{{Name: "buy", Steps: []Step{
		{Name: "login", URL: url + "/login", Body: []byte(`{"user": ${ordinal}}`), Headers: []Header{{"Content-Type", "application/json"}}, Takes: []Take{
			{"token", "json auth.token"}, {"trace", "header X-Trace"}, {"sid", "cookie sid"}, {"price", `regex /"price": (\d+)/`},
		}},
		{Name: "pay", URL: url + "/pay/${trace}?p=${price}", At: time.Second, Headers: []Header{{"Authorization", "Bearer ${token}"}, {"Cookie", "sid=${sid}"}}, Takes: []Take{{"order", "json order"}}},
		{Name: "look", URL: url + "/orders/${order}", After: &after},
	}}}}
}

// hostile is an answer of many bytes.
type hostile struct{ body string }

func (h hostile) Status() int           { return 200 }
func (h hostile) Content() []byte       { return []byte(h.body[:min(len(h.body), check.Most)]) }
func (h hostile) Length() int64         { return int64(len(h.body)) }
func (h hostile) Field(string) []string { return []string{h.body[:min(len(h.body), 60_000)]} }

// Hostile answers: deep JSON, huge JSON, and what is slow for other regular expressions. Each is refused or read in
// linear time, which the time limit of the tests bounds.
func TestTakesOfHostileAnswers(t *testing.T) {
	for _, body := range []string{strings.Repeat("[", 1<<21), strings.Repeat(`{"a":`, 1<<18), `{"a": "` + strings.Repeat("x", 1<<30>>4) + `"}`, strings.Repeat("a", 1<<20)} {
		for _, from := range []string{"json a.a.a", "json #.a", "regex /(a+)+b/", "regex /(x+x+)+y/", "header A", "cookie A"} {
			take, err := check.ParseTake(from)
			if err != nil {
				t.Fatal(err)
			}
			if value, found := take.From(hostile{body}); found && len(value) > 16<<10 {
				t.Errorf("%s takes %d bytes", from, len(value))
			}
		}
	}
}

func TestBadFlows(t *testing.T) {
	step := func(change func(*Step)) Spec {
		s := shopFlow("http://a")
		change(&s.Flows[0].Steps[1])
		return s
	}
	long, short := 2*time.Hour, time.Second
	for want, s := range map[string]Spec{
		"step login: the flow has two steps of this":     {Flows: []Flow{{Name: "f", Steps: []Step{{Name: "login", URL: "http://a"}, {Name: "login", URL: "http://a"}}}}},
		"flow empty: give it 1 to 100 steps":             {Flows: []Flow{{Name: "empty"}}},
		"step pay: url: ${tokem}: there is no such":      step(func(s *Step) { s.URL = "http://a/${tokem}" }),
		"step pay: url: ${order}: there is no such":      step(func(s *Step) { s.URL = "http://a/${order}" }),
		"at and after: give times up to 1h":              step(func(s *Step) { s.At = 2 * time.Hour }),
		"step pay: at and after: give times":             step(func(s *Step) { s.At, s.After = 0, &long }),
		"at and after: give one of them":                 step(func(s *Step) { s.After = &short }),
		"take \"a b\": a name has letters":               step(func(s *Step) { s.Takes = []Take{{"a b", "json x"}} }),
		"take uuid: ${uuid} has a meaning already":       step(func(s *Step) { s.Takes = []Take{{"uuid", "json x"}} }),
		"take token: the flow takes this name twice":     step(func(s *Step) { s.Takes = []Take{{"token", "json x"}} }),
		"take order: the flow takes this name twice":     step(func(s *Step) { s.Takes = []Take{{"order", "json x"}, {"order", "json x"}} }),
		`take "order": "jsom" takes nothing; write json`: step(func(s *Step) { s.Takes = []Take{{"order", "jsom x"}} }),
		`a path is written without $`:                    step(func(s *Step) { s.Takes = []Take{{"order", "json $.x"}} }),
		`take "order": it is not complete or not right`:  step(func(s *Step) { s.Takes = []Take{{"order", "regex x"}} }),
		`take "order": error parsing regexp`:             step(func(s *Step) { s.Takes = []Take{{"order", "regex /(/"}} }),
		`take order: an answer to HEAD has no body`:      step(func(s *Step) { s.Method = "HEAD" }),
		"flow: name \"a\\nb\": leave out braces":         {Flows: []Flow{{Name: "a\nb", Steps: []Step{{Name: "a", URL: "http://a"}}}}},
		"flow f: step 1: name \"x\\ny\": leave out":      {Flows: []Flow{{Name: "f", Steps: []Step{{Name: "x\ny", URL: "http://a"}}}}},
		"step login: the first step is sent when":        {Flows: []Flow{{Name: "f", Steps: []Step{{Name: "login", URL: "http://a", At: 1}}}}},
		"step b: at 1s is before the step before it":     {Flows: []Flow{{Name: "f", Steps: []Step{{Name: "a", URL: "http://a"}, {Name: "c", URL: "http://a", At: 2 * time.Second}, {Name: "b", URL: "http://a", At: time.Second}}}}},
		"data: no placeholder uses users; write":         {Flows: shopFlow("http://a").Flows, Data: []rows.Source{{Name: "users", Columns: []string{"a"}, Rows: 1, Pick: "once"}}},
	} {
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
