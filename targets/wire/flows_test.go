package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
)

// mixed returns a spec of steps a, b, … with these weights.
func mixed(weights ...int64) targets.Spec {
	var s targets.Spec
	for i, w := range weights {
		s.Flows = append(s.Flows, targets.Flow{Name: fmt.Sprint("f", i), Weight: w, Steps: []targets.Step{{Name: fmt.Sprint("s", i), URL: fmt.Sprint("http://a/", i)}}})
	}
	return s
}

func TestMixErrors(t *testing.T) {
	ok := targets.Step{Name: "a", URL: "http://a/"}
	for want, s := range map[string]targets.Spec{
		"leave out URL, method":                         {URL: "http://a/", Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{ok}}}},
		"flow a: the weight must":                       {Flows: []targets.Flow{{Name: "a", Weight: -1, Steps: []targets.Step{ok}}}},
		"step a: url: is missing":                       {Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{targets.Step{Name: "a"}}}}},
		"flow f: step 1: name \"\": give 1 to 64 bytes": {Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{targets.Step{URL: "http://a"}}}}},
		"leave out braces, commas":                      {Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{targets.Step{Name: "a}", URL: "http://a"}}}}},
		"step b: check":                                 {Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{ok}}, {Name: "f", Steps: []targets.Step{targets.Step{Name: "b", URL: "http://a", Checks: []string{"x"}}}}}},
		"step b: header 1":                              {Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{ok}}, {Name: "f", Steps: []targets.Step{targets.Step{Name: "b", URL: "http://a", Headers: []targets.Header{{Name: "", Value: ""}}}}}}},
		"there is no data file":                         {Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{targets.Step{Name: "b", URL: "http://a/${x.y}"}}}}},
		"their sum is 109518":                           mixed(9999, 9998, 9973, 9967, 9949, 9941, 9931, 9929, 9923, 9907, 10000, 1),
		"targets pick \"any\": write one of cycle":      {Pick: "any", Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{ok}}}},
		"there are no requests to mix":                  {Pick: targets.PickRandom, URL: "http://a/"},
		"each flow has to use users because of pick=once, and g does not": {Pick: targets.PickRandom, Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{{Name: "a", URL: "http://a/${users.a}"}}}, {Name: "g", Steps: []targets.Step{ok}}},
			Data: []rows.Source{{Name: "users", Columns: []string{"a"}, Rows: 1, Pick: "once"}}},
		"no placeholder uses users": {Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{ok}}}, Data: []rows.Source{{Name: "users", Columns: []string{"a"}, Rows: 1, Pick: "once"}}},
	} {
		err := Validate(s)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	many := mixed(make([]int64, targets.MaxFlows+1)...)
	if err := Validate(many); err == nil || !strings.Contains(err.Error(), "at most 10000") {
		t.Error(err)
	}
}
