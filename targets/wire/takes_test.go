package wire

import (
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/rows"
)

// shopFlow is a flow whose second step needs what the first one takes.
func shopFlow(url string) targets.Spec {
	after := time.Second
	return targets.Spec{Flows: []targets.Flow{{Name: "buy", Steps: []targets.Step{
		{Name: "login", URL: url + "/login", Body: []byte(`{"user": ${ordinal}}`), Headers: []targets.Header{{Name: "Content-Type", Value: "application/json"}}, Takes: []targets.Take{
			{Name: "token", From: "json auth.token"}, {Name: "trace", From: "header X-Trace"}, {Name: "sid", From: "cookie sid"}, {Name: "price", From: `regex /"price": (\d+)/`},
		}},
		{Name: "pay", URL: url + "/pay/${trace}?p=${price}", At: time.Second, Headers: []targets.Header{{Name: "Authorization", Value: "Bearer ${token}"}, {Name: "Cookie", Value: "sid=${sid}"}}, Takes: []targets.Take{{Name: "order", From: "json order"}}},
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
	step := func(change func(*targets.Step)) targets.Spec {
		s := shopFlow("http://a")
		change(&s.Flows[0].Steps[1])
		return s
	}
	long, short := 2*time.Hour, time.Second
	for want, s := range map[string]targets.Spec{
		"step login: the flow has two steps of this": {Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{{Name: "login", URL: "http://a"}, {Name: "login", URL: "http://a"}}}}},
		"flow empty: give it 1 to 100 steps":         {Flows: []targets.Flow{{Name: "empty"}}},
		"step pay: url: ${tokem}: there is no such":  step(func(s *targets.Step) { s.URL = "http://a/${tokem}" }),
		"step pay: url: ${order}: there is no such":  step(func(s *targets.Step) { s.URL = "http://a/${order}" }),
		"at and after: give times up to 1h":          step(func(s *targets.Step) { s.At = 2 * time.Hour }),
		"step pay: at and after: give times":         step(func(s *targets.Step) { s.At, s.After = 0, &long }),
		"at and after: give one of them":             step(func(s *targets.Step) { s.After = &short }),
		"take \"a b\": a name has letters":           step(func(s *targets.Step) { s.Takes = []targets.Take{{Name: "a b", From: "json x"}} }),
		`take "uuid": ${uuid} has a meaning already`: step(func(s *targets.Step) { s.Takes = []targets.Take{{Name: "uuid", From: "json x"}} }),
		"take order: the step takes this name twice": step(func(s *targets.Step) {
			s.Takes = []targets.Take{{Name: "order", From: "json x"}, {Name: "order", From: "json x"}}
		}),
		`take "order": "jsom" takes nothing; write json`: step(func(s *targets.Step) { s.Takes = []targets.Take{{Name: "order", From: "jsom x"}} }),
		`a path is written without $`:                    step(func(s *targets.Step) { s.Takes = []targets.Take{{Name: "order", From: "json $.x"}} }),
		`take "order": it is not complete or not right`:  step(func(s *targets.Step) { s.Takes = []targets.Take{{Name: "order", From: "regex x"}} }),
		`take "order": error parsing regexp`:             step(func(s *targets.Step) { s.Takes = []targets.Take{{Name: "order", From: "regex /(/"}} }),
		`take order: an answer to HEAD has no body`:      step(func(s *targets.Step) { s.Method = "HEAD" }),
		"flow: name \"a\\nb\": leave out braces":         {Flows: []targets.Flow{{Name: "a\nb", Steps: []targets.Step{{Name: "a", URL: "http://a"}}}}},
		"flow f: step 1: name \"x\\ny\": leave out":      {Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{{Name: "x\ny", URL: "http://a"}}}}},
		"step login: the first step is sent when":        {Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{{Name: "login", URL: "http://a", At: 1}}}}},
		"step b: at 1s is before the step before it":     {Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{{Name: "a", URL: "http://a"}, {Name: "c", URL: "http://a", At: 2 * time.Second}, {Name: "b", URL: "http://a", At: time.Second}}}}},
		"data: no placeholder uses users; write":         {Flows: shopFlow("http://a").Flows, Data: []rows.Source{{Name: "users", Columns: []string{"a"}, Rows: 1, Pick: "once"}}},
	} {
		if err := Validate(s); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
