package doctor

import (
	"cmp"
	"strings"

	"github.com/loadctl/loadctl/internal/run"
)

// permissions are the least that a worker, loadctl and these checks need, as ACL SETUSER takes it.
const permissions = "+@read +@write +@scripting +@transaction +@pubsub +@connection -@dangerous +time +info +config|get +cluster|slots +cluster|info ~{load:* ~load:runs &{load:*"

// remedy is what to do about an error of a server; otherwise if that is not known.
func remedy(err error, otherwise string) string {
	for _, word := range []string{"NOPERM", "user executing the script can't"} { // the second in Redis 6.2 and 7.0, from inside a script
		if strings.Contains(err.Error(), word) {
			return "allow the user of the URL what it needs: ACL SETUSER NAME " + permissions
		}
	}
	_, mend := run.Remedy(err)
	return cmp.Or(mend, otherwise)
}
