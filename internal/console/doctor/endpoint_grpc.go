package doctor

import (
	"context"
	"net/url"
	"strings"

	"github.com/loadctl/loadctl/internal/input/schema"
	"github.com/loadctl/loadctl/targets/wire"
)

// methods asks the servers of gRPC whether the methods are there, and how the servers are. It calls none of the methods.
func (a Aim) methods(ctx context.Context) []Finding {
	var findings []Finding
	if len(a.Spec.Descriptors) == 0 { // no files tell
		findings = append(findings, a.reflection(ctx).of("reflection"))
	}
	asked := map[string]bool{}
	for _, m := range a.Spec.Methods() {
		u, err := url.Parse(m.URL)
		if err != nil || asked[u.Host] {
			continue
		}
		asked[u.Host] = true
		f := a.health(ctx, m.URL)
		if len(a.Spec.Flows) > 0 {
			f.Found = u.Host + ": " + f.Found
		}
		findings = append(findings, f.of("health"))
	}
	return findings
}

// reflection looks for the methods, and whether the messages fit them.
func (a Aim) reflection(ctx context.Context) Finding {
	described, err := schema.Describe(ctx, a.Spec, a.Local, schema.Files{})
	if err != nil {
		return advised(err, "give --proto FILE")
	}
	a.Spec.Descriptors = described
	if err := wire.Validate(a.Spec); err != nil {
		return advised(err, "check the message (-d)")
	}
	var names []string
	for _, m := range a.Spec.Methods() {
		names = append(names, strings.TrimPrefix(m.Path, "/"))
	}
	return ok("the server describes " + strings.Join(names, ", "))
}

// health tells how a server says it is.
func (a Aim) health(ctx context.Context, of string) Finding {
	switch said, err := schema.Health(ctx, a.Spec, a.Local, of); {
	case err != nil:
		return warn(err.Error(), "look at the log of the server")
	case said == "":
		return ok("not told: the server has no grpc.health.v1.Health")
	case said == schema.Serving:
		return ok(said)
	default:
		return warn(said+": calls may fail", "find out why the server is not ready")
	}
}
