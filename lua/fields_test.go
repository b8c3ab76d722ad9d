package lua

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFieldsAreThoseOfTheScripts: the names of what the scripts store are in the order in which they store it.
func TestFieldsAreThoseOfTheScripts(t *testing.T) {
	text := read("changes") + read("member") + read("budget")
	for form, names := range map[string][]string{"COUNTS": counts(), "FIGURES": figures(), "MEMBER": member()} {
		args := strings.Fields(regexp.MustCompile(`(?s)struct\.pack\(` + form + `,([^)]*)\)`).FindStringSubmatch(text)[1])
		var stored []string
		for _, arg := range args {
			arg = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(arg, ","), "b."), "m.")
			switch arg {
			case "g", "and", "or", "0":
				continue
			case "g.nx":
				arg = "nx"
			case "#m.ranges":
				arg = "size"
			}
			stored = append(stored, arg)
		}
		if !slices.Equal(stored, names) {
			t.Errorf("%s: stored are %v, named %v", form, stored, names)
		}
	}
}

// TestFormsFit: a form has as many numbers as are packed and unpacked with it.
func TestFormsFit(t *testing.T) {
	forms := map[string]int{}
	for _, m := range regexp.MustCompile(`local (\w+) = '<(l+)'`).FindAllStringSubmatch(read("form"), -1) {
		forms[m[1]] = len(m[2])
	}
	for form, n := range map[string]int{
		"COUNTS": len(counts()), "FIGURES": len(figures()), "MEMBER": len(member()), "GENERATION": generation / 8, "RANGE": span / 8,
		"LAW": 9, "ASK": 8, "REPLY": 11 + 5, "CLOCKS": 2,
	} {
		if forms[form] != n {
			t.Errorf("%s has %d numbers, want %d", form, forms[form], n)
		}
		delete(forms, form)
	}
	if len(forms) > 0 {
		t.Errorf("forms that nobody looks at: %v", forms)
	}
}
