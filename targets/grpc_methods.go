package targets

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/loadctl/loadctl/targets/grpc"
)

// IsGRPC reports whether a URL is that of a method of gRPC.
func IsGRPC(url string) bool {
	scheme, _, _ := strings.Cut(url, ":")
	return strings.EqualFold(scheme, "grpc") || strings.EqualFold(scheme, "grpcs")
}

// ErrUndescribed says that the spec lacks the description of a method.
var ErrUndescribed = errors.New("descriptors: the method is not described; put its FileDescriptorSet in Spec.Descriptors")

// described returns the spec with its descriptors read, so that its steps need not do it. Each step says what is wrong
// with them.
func (s Spec) described() Spec {
	if s.schema == nil && len(s.Descriptors) > 0 {
		s.schema, _ = grpc.ReadSchema(s.Descriptors)
	}
	return s
}

// Called returns the method that a URL calls.
func (s Spec) Called(u *url.URL) (*grpc.Method, error) {
	service, name, err := grpc.SplitPath(u.Path)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	schema := s.schema
	switch {
	case len(s.Descriptors) == 0:
		return nil, ErrUndescribed
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
		if _, u, err := (Spec{URL: raw}).ParseURL(); err == nil && IsGRPC(raw) {
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
