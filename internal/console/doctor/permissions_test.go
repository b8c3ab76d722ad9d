package doctor

import (
	"os"
	"strings"
	"testing"
)

// TestPermissionsAreDocumented: docs/deploy.md has both lists, word for word, and never advises to allow CONFIG.
func TestPermissionsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Join(strings.Fields(strings.NewReplacer("'", "", "\\\n", " ").Replace(string(page))), " ")
	for user, list := range map[string]string{"worker": WorkerPermissions, "operator": OperatorPermissions} {
		if !strings.Contains(words, "ACL SETUSER "+user+" on >PASSWORD "+list+" ") {
			t.Errorf("docs/deploy.md does not have the permissions of the %s: %s", user, list)
		}
		for _, secret := range []string{"config", "+@", "acl"} {
			if strings.Contains(list, secret) {
				t.Errorf("%s: %s", user, secret)
			}
		}
	}
	if f := bad("x", remedy(answer("NOPERM this user has no permissions"), "")).of("x"); !strings.HasSuffix(f.Mend, operatorsOwn) {
		t.Errorf("not whole: %q", f.Mend)
	}
}
