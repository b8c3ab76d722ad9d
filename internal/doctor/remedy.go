package doctor

import "strings"

// permissions are the least that a worker, loadctl and these checks need, as ACL SETUSER takes it.
const permissions = "+@read +@write +@scripting +@transaction +@pubsub +@connection -@dangerous +time +info +config|get ~{load:* ~load:runs &{load:*"

// remedy is what to do about an error of a server, by the words that its kind has in it; otherwise if it has none of them.
func remedy(err error, otherwise string) string {
	const allow = "allow the user of the URL what it needs: ACL SETUSER NAME " + permissions
	for _, kind := range []struct{ word, mend string }{
		{"NOPERM", allow},
		{"The user executing the script can't", allow}, // Redis 6.2 and 7.0, from inside a script
		{"NOAUTH", "put the password into the URL: redis://user:password@host:port"},
		{"WRONGPASS", "put the right user and password into the URL: redis://user:password@host:port"},
		{"READONLY", "give the address of the master"},
		{"OOM command", "give the server more memory: CONFIG SET maxmemory BYTES"},
		{"MISCONF", "see the server's log: it cannot write to its disk"},
		{"NOREPLICAS", "bring its replicas back, or lower min-replicas-to-write"},
		{"LOADING", "wait until the server has read its data"},
		{"nknown command", "use Redis 6.2 or newer, or a server that has all of its commands"},
	} {
		if strings.Contains(err.Error(), kind.word) {
			return kind.mend
		}
	}
	return otherwise
}
