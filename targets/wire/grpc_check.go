package wire

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/grpc"
)

// checkGRPC checks the spec of a grpc or grpcs target. Without Descriptors it cannot check the message.
func checkGRPC(s targets.Spec, u *url.URL) error {
	if err := checkAddress(u); err != nil {
		return err
	}
	if strings.Contains(u.Path, targets.URLStandIn) {
		return errors.New("url: the method has no placeholders; put them into the message")
	}
	if _, _, err := grpc.SplitPath(u.Path); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	if s.Method != "" {
		return errors.New("method: that of gRPC is the path of the URL; leave it out")
	}
	if err := checkTalk(s, u); err != nil {
		return err
	}
	if _, err := newGRPCExpectation(s); err != nil {
		return err
	}
	return cmp.Or(checkMetadata(s.Headers), checkLimits(s), checkRouting(s), checkTrust(s), checkVersion(s))
}

// checkMetadata checks headers. Those that the protocol sets itself are refused.
func checkMetadata(headers []targets.Header) error {
	if err := targets.CheckHeaders(headers); err != nil {
		return err
	}
	for _, h := range headers {
		switch http.CanonicalHeaderKey(h.Name) {
		case "Content-Type", "Te", "Connection", "Keep-Alive", "Proxy-Connection", "Upgrade",
			"Grpc-Timeout", "Grpc-Encoding", "Grpc-Accept-Encoding", "Grpc-Status", "Grpc-Message":
			return fmt.Errorf("header %s: gRPC sets it itself; leave it out", h.Name)
		}
		if strings.HasSuffix(strings.ToLower(h.Name), "-bin") && !strings.Contains(h.Value, "${") && !grpc.IsBinary(h.Value) {
			return fmt.Errorf("header %s: the value is no base64; a name that ends with -bin needs that", h.Name)
		}
	}
	return nil
}

// sharedGRPC refuses what only HTTP has, of the settings that all requests share.
func sharedGRPC(s targets.Spec) error {
	if a, err := targets.ParseAuth(s.Auth); err == nil && a.Kind == targets.AuthSigV4 {
		return errors.New("auth: sigv4 signs requests of HTTP; use basic, bearer or oauth2")
	}
	if s.HTTP != "" {
		return errors.New("http: gRPC needs HTTP/2 and uses it; leave it out")
	}
	s.Auth, s.Streams, s.Trace = "", 0, false
	return sharedBare(s)
}
