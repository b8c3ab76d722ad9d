package runflags

import (
	"fmt"

	"github.com/loadctl/loadctl/targets"
)

// authHelp is the help of --auth.
const authHelp = "`AUTH` of all requests: basic:USER:PASSWORD, basic:@FILE, bearer:@FILE, " +
	"oauth2:SETTINGS with token_url=URL, client_id=ID and client_secret=@FILE, " +
	"or sigv4:SETTINGS with region=REGION, service=SERVICE, access_key=ID and secret_key=@FILE. " +
	"FILE lies on each worker's machine; @env:NAME is a variable there. See docs/workloads.md#authorization"

// checkAuth checks --auth before files are read, so that the error names the flag and no step.
func (f *Spec) checkAuth() error {
	if !f.set.Changed("auth") {
		return nil
	}
	if _, err := targets.ParseAuth(f.target.Auth); err != nil {
		return fmt.Errorf("--auth: %w", err)
	}
	return nil
}
