package runflags

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/loadctl/loadctl/internal/input/schema"
	"github.com/loadctl/loadctl/targets"
)

// addProtoFlags adds the flags that say what methods of gRPC take.
func (f *Spec) addProtoFlags(s *pflag.FlagSet) {
	s.StringArrayVar(&f.proto.Names, "proto", nil, "`FILE` that describes the service of a grpc URL: a .proto file, or a set of protoc --descriptor_set_out --include_imports; "+
		"may be repeated. Without it the server is asked (reflection). See docs/grpc.md")
	s.StringArrayVar(&f.proto.Paths, "proto-path", nil, "`DIR` where .proto files and their imports lie; may be repeated")
}

// describe finds out what the methods take that are called over gRPC. A workload that is only looked at needs no server.
func (f *Spec) describe(t *targets.Spec) (err error) {
	switch {
	case len(t.Methods()) == 0 && len(f.proto.Names)+len(f.proto.Paths) > 0:
		return errors.New("--proto: only gRPC needs it; leave it out, or give a --url that begins with grpc://")
	case len(f.proto.Paths) > 0 && len(f.proto.Names) == 0:
		return errors.New("--proto-path: give --proto FILE too")
	case len(t.Methods()) == 0 || f.standIn && !f.Sends && len(f.proto.Names) == 0:
		return nil
	}
	ctx := cmp.Or(f.command.Context(), context.Background())
	t.Descriptors, err = schema.Describe(ctx, *t, f.Local, f.proto)
	return err
}
