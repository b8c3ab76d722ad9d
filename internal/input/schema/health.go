package schema

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/probe"
	"github.com/loadctl/loadctl/targets/status"
)

// Serving is the health of a server that answers calls.
const Serving = "SERVING"

// Health asks the server of a URL for its health as a whole (grpc.health.v1): Serving, NOT_SERVING or UNKNOWN; "" if it
// has no such service. spec says how to connect. The error is one line.
func Health(ctx context.Context, spec targets.Spec, local targets.Local, of string) (string, error) {
	u, err := url.Parse(of)
	if err != nil {
		return "", errors.New("url: is not a URL")
	}
	s := newServer(ctx, spec, local, u)
	s.url.Path = "/grpc.health.v1.Health/Check"
	s.spec.URL = s.url.String()
	answer, n, err := probe.GRPC(ctx, s.spec, local, nil)
	switch name := status.Name(n); {
	case err != nil:
		return "", err
	case name == "UNIMPLEMENTED":
		return "", nil
	case name != "OK":
		return "", fmt.Errorf("the server answers %s to the question how it is", name)
	}
	return healthOf(answer), nil
}

// healthOf reads a HealthCheckResponse. Its first field is the status.
func healthOf(answer []byte) string {
	number, kind, n := protowire.ConsumeTag(answer)
	if n > 0 && number == 1 && kind == protowire.VarintType {
		switch value, _ := protowire.ConsumeVarint(answer[n:]); value {
		case 1:
			return Serving
		case 2:
			return "NOT_SERVING"
		}
	}
	return "UNKNOWN"
}
