package targets

import (
	"strings"
	"testing"
)

// TestBind asserts that a spec gets the schemes of a program that has them in the same version, and no others.
func TestBind(t *testing.T) {
	open := func(Spec, Local) (Sender, error) { return nil, nil }
	have := []Scheme{{Name: "a", Version: "1", Port: "7", Open: open}, {Name: "b", Version: "2", Open: open}}
	recorded := func(text string) Scheme {
		k, err := ParseScheme(text)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	for _, c := range []struct{ recorded, says string }{
		{"a=1", ""}, {"b=1", "needs the scheme b=1, and this program has b=2"}, {"c=1", "needs the scheme c=1, which this program does not have"},
	} {
		s := Spec{URL: "a://h", Schemes: []Scheme{recorded(c.recorded)}}
		bound, err := s.Bind(have)
		if c.says == "" && (err != nil || bound.Schemes[0].Open == nil || bound.Schemes[0].Port != "7" || s.Schemes[0].Open != nil) {
			t.Errorf("%s: %+v, %v", c.recorded, bound, err)
		}
		if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", c.recorded, err)
		}
	}
}

// TestUsing asserts that a spec records the schemes that its steps use, whatever the case of their URLs, and no others.
func TestUsing(t *testing.T) {
	have := []Scheme{{Name: "a", Version: "1"}, {Name: "b", Version: "2"}, {Name: "c", Version: "3"}}
	s := Spec{Flows: []Flow{{Steps: []Step{{URL: "A://h"}, {URL: "http://h"}}}, {Steps: []Step{{URL: "b://h"}, {URL: "a://h"}}}}}.Using(have)
	if got := s.others(); got != "a=1, b=2" {
		t.Error(got)
	}
	if got := (Spec{URL: "http://h", Schemes: have}).Using(have).others(); got != "" {
		t.Error(got)
	}
}

// TestParseScheme asserts that a scheme is a name and a version, and none of ours.
func TestParseScheme(t *testing.T) {
	for text, ok := range map[string]bool{"a=1": true, "m+q.t-t=v1.2_3": true, "a": false, "a=": false, "=1": false, "A=1": false, "a=1 2": false, "http=1": false, "1a=1": false, "a=1=2": false} {
		if k, err := ParseScheme(text); (err == nil) != ok || ok && k.String() != text {
			t.Errorf("%q: %+v, %v", text, k, err)
		}
	}
}
