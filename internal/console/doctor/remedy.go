package doctor

import (
	"cmp"
	"strings"

	"github.com/loadctl/loadctl/internal/fleet/link"
)

// remedy says what to do about an error of a server; otherwise is used for unknown errors.
func remedy(err error, otherwise string) string {
	for _, word := range []string{"NOPERM", "user executing the script can't"} { // the second in Redis 6.2 and 7.0, from inside a script
		if strings.Contains(err.Error(), word) {
			return "allow a worker's user what it needs: ACL SETUSER NAME " + WorkerPermissions + "; loadctl's user the same and " + operatorsOwn
		}
	}
	_, mend := link.Remedy(err)
	return cmp.Or(mend, otherwise)
}
