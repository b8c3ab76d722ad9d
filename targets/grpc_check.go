package targets

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/loadctl/loadctl/targets/grpc"
)

// IsGRPC reports whether a URL is that of a method of gRPC.
func IsGRPC(url string) bool {
	scheme, _, _ := strings.Cut(url, ":")
	return strings.EqualFold(scheme, "grpc") || strings.EqualFold(scheme, "grpcs")
}

// checkGRPC checks the spec of a grpc or grpcs target. Without Descriptors it cannot check the message.
func checkGRPC(s Spec, u *url.URL) error {
	if err := checkAddress(u); err != nil {
		return err
	}
	if strings.Contains(u.Path, stand) {
		return errors.New("url: the method has no placeholders; put them into the message")
	}
	if _, _, err := grpc.SplitPath(u.Path); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	if s.Method != "" {
		return errors.New("method: that of gRPC is the path of the URL; leave it out")
	}
	if err := s.checkTalk(u); err != nil {
		return err
	}
	if _, err := newGRPCExpectation(s); err != nil {
		return err
	}
	return cmp.Or(checkMetadata(s.Headers), checkLimits(s), checkRouting(s), checkTrust(s), checkVersion(s))
}

// checkMetadata checks headers. Those that the protocol sets itself are refused.
func checkMetadata(headers []Header) error {
	if err := checkHeaders(headers); err != nil {
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
func sharedGRPC(s Spec) error {
	if a, err := ParseAuth(s.Auth); err == nil && a.Kind == AuthSigV4 {
		return errors.New("auth: sigv4 signs requests of HTTP; use basic, bearer or oauth2")
	}
	if s.HTTP != "" {
		return errors.New("http: gRPC needs HTTP/2 and uses it; leave it out")
	}
	s.Auth, s.Streams = "", 0
	return sharedBare(s)
}

// described returns the spec with its descriptors read, so that its steps need not do it. Each step tells what is wrong
// with them.
func (s Spec) described() Spec {
	if s.schema == nil && len(s.Descriptors) > 0 {
		s.schema, _ = grpc.ReadSchema(s.Descriptors)
	}
	return s
}

// calls returns the method that a URL calls.
func (s Spec) calls(u *url.URL) (*grpc.Method, error) {
	service, name, err := grpc.SplitPath(u.Path)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	schema := s.schema
	switch {
	case len(s.Descriptors) == 0:
		return nil, errUndescribed
	case schema == nil:
		if schema, err = grpc.ReadSchema(s.Descriptors); err != nil {
			return nil, err
		}
	}
	m, err := schema.Method(service, name)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	return m, nil
}

// Methods returns the methods that a spec calls over gRPC, as the URL of one of them and /SERVICE/METHOD. The spec need
// not be valid.
func (s Spec) Methods() (all []Called) {
	add := func(raw string) {
		if _, u, err := (Spec{URL: raw}).kind(); err == nil && IsGRPC(raw) {
			all = append(all, Called{raw, u.Path})
		}
	}
	add(s.URL)
	for _, f := range s.Flows {
		for _, step := range f.Steps {
			add(step.URL)
		}
	}
	return all
}

// Called is a method that is called over gRPC.
type Called struct {
	URL  string
	Path string // /SERVICE/METHOD
}
