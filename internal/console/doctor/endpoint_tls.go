package doctor

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"strings"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/probe"
)

// soon is how long before its end a certificate gets a warning.
const soon = 7 * 24 * time.Hour

// tlsOf tells the version of TLS and how long the server's certificate is valid. unchecked: any certificate is accepted.
func tlsOf(s *tls.ConnectionState, unchecked bool, now time.Time) Finding {
	text := tls.VersionName(s.Version)
	if len(s.PeerCertificates) == 0 {
		return ok(text)
	}
	leaf := s.PeerCertificates[0]
	left := leaf.NotAfter.Sub(now)
	until := leaf.NotAfter.UTC().Format(time.DateOnly)
	if unchecked {
		text += ", certificate not checked (-k)"
	}
	switch {
	case left < 0:
		return warn(text+", certificate ended on "+until, "renew the certificate of the server")
	case left < soon:
		return warn(fmt.Sprintf("%s, certificate ends on %s, in %s", text, until, days(left)), "renew the certificate of the server: after that, new connections fail")
	}
	return ok(fmt.Sprintf("%s, certificate until %s, %s", text, until, days(left)))
}

// days writes a time in days, or in hours if it is less than two.
func days(d time.Duration) string {
	if d < 48*time.Hour {
		return fmt.Sprintf("%d hours", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// remedyEndpoint says what to do about a server that cannot be used.
func remedyEndpoint(c probe.Contact) string {
	if mend := cmp.Or(probe.Advise(c.Err, c.URL), probe.AdviseClass(c.Class)); mend != "" {
		return mend
	}
	switch c.Class {
	case targets.ClassProtocol:
		return misspoken(c)
	case targets.ClassStatus:
		return "check the path of the URL, -H and --auth"
	}
	if strings.HasPrefix(c.Class, targets.ClassReply) {
		return "check user, password and database in the URL"
	}
	return "check the URL"
}

// misspoken says what to do about a server that speaks another protocol.
func misspoken(c probe.Contact) string {
	scheme, _, _ := strings.Cut(c.URL, ":")
	switch scheme {
	case "ws", "wss":
		return "check host, port and path: the server does not speak WebSocket there"
	case "redis", "rediss":
		return "check the port: no Redis answers there"
	}
	return "check the port: another protocol is spoken there"
}
