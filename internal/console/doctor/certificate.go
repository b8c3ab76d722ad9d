package doctor

import (
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
)

// certificate warns about a connection that does not check the server's certificate. Other connections get no finding.
func certificate(client rdb.Client) []Finding {
	if link.UnverifiedWarning(client) == "" {
		return nil
	}
	return []Finding{warn("not checked: skip_verify in the Redis URL", link.VerifyInstead).of("certificate")}
}
