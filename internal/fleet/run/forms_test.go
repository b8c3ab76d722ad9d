package run

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/lua"
)

// TestFormsHaveAVersion: programs of one spec.Version read one another's state, so a form must not change without it.
func TestFormsHaveAVersion(t *testing.T) {
	const version, sum = 14, "18b0325a93c1e438"
	var forms []string
	for _, name := range []string{"make", "renew", "order", "remove", "right", "ask", "budget", "snapshot", "grant/gcra"} {
		code := regexp.MustCompile(`--[^\n]*`).ReplaceAllString(lua.Text(name), "")
		// Forms are strings such as '<lll'. What is packed in which order stands in the calls.
		forms = append(forms, regexp.MustCompile(`'<l+'`).FindAllString(code, -1)...)
		for _, call := range regexp.MustCompile(`(?s)struct\.pack\(\w+, .*?\)\s*(?:\n|\.\.|,)`).FindAllString(code, -1) {
			forms = append(forms, strings.Join(strings.Fields(call), " "))
		}
	}
	got := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(forms, "\n"))))[:16]
	if len(forms) < 10 || got != sum || spec.Version != version {
		t.Errorf("version %d: the forms of state, calls and replies have the sum %s, and had %s in version %d.\n"+
			"If what programs store or send differs from before, raise spec.Version. Then write both here.", spec.Version, got, sum, version)
	}
}
