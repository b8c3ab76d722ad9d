package doctor

import (
	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/link"
)

// certificate warns about a connection that does not check the server's certificate. Other connections get no finding.
func certificate(client redis.UniversalClient) []Finding {
	if link.UnverifiedWarning(client) == "" {
		return nil
	}
	return []Finding{warn("not checked: skip_verify in the Redis URL", link.VerifyInstead).of("certificate")}
}
