package lua

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFieldsAreThoseOfTheScripts: the names are in the order in which the scripts store the fields. A form has as many
// numbers as its fields.
func TestFieldsAreThoseOfTheScripts(t *testing.T) {
	for form, c := range map[string]struct {
		text  string
		names []string
	}{"CORE": {read("fleet"), core()}, "RECORD": {read("shares"), holding()}} {
		args := regexp.MustCompile(`(?s)struct\.pack\(` + form + `, (.*?)\)(\n| \.\.)`).FindStringSubmatch(c.text)[1]
		var stored []string
		for arg := range strings.SplitSeq(args, ",") {
			arg = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(arg), "b."), "m.")
			arg, _, _ = strings.Cut(arg, " ") // "leaving and 1 or 0"
			stored = append(stored, strings.TrimPrefix(arg, "#"))
		}
		if !slices.Equal(stored, c.names) {
			t.Errorf("%s: stored are %v, named %v", form, stored, c.names)
		}
		letters := regexp.MustCompile(`local ` + form + ` = '<(l+)'`).FindStringSubmatch(read("state"))[1]
		if len(letters) != len(c.names) {
			t.Errorf("%s has %d numbers, want %d", form, len(letters), len(c.names))
		}
	}
}
