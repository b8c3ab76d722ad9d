package link

import (
	"crypto/tls"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
)

// UnverifiedWarning returns a warning if the URL of the server turns off the check of its certificate with
// skip_verify; else "".
func UnverifiedWarning(client rdb.Client) string {
	var config *tls.Config
	switch c := client.(type) {
	case *redis.Client:
		config = c.Options().TLSConfig
	case *redis.ClusterClient:
		config = c.Options().TLSConfig
	case *Watched:
		config = c.Options().TLSConfig
	}
	if config == nil || !config.InsecureSkipVerify {
		return ""
	}
	return "skip_verify in the Redis URL turns off the check of the server's certificate: anybody on the path can read the password and change the run; " + VerifyInstead
}

// VerifyInstead is what to do about skip_verify.
const VerifyInstead = "leave it out, and trust the certificate's authority with the environment SSL_CERT_FILE=FILE"
