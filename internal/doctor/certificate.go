package doctor

import (
	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/run"
)

// certificate tells of a connection on which the server's certificate is not checked; of others there is nothing to tell.
func certificate(client redis.UniversalClient) []Finding {
	if run.Unverified(client) == "" {
		return nil
	}
	return []Finding{warn("not checked: skip_verify in the Redis URL", run.VerifyInstead).of("certificate")}
}
