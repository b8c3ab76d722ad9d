// Package schema finds out what methods of gRPC take and return, where a run is created: by asking the server
// (reflection), or from files. The run carries the answer, so workers need no files and all send the same.
//
//	descriptors, err := schema.Describe(ctx, spec, targets.Local{}, schema.Files{})
package schema

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/grpc"
)

// Bounds of what describes a service before it is pruned.
const (
	mostFiles = 2000
	mostBytes = 16 << 20
)

// Describe returns the encoded descriptors of all methods that the spec calls, and of nothing else. Without files it asks
// the servers. Its error is one line that says what to do.
func Describe(ctx context.Context, spec targets.Spec, local targets.Local, from Files) ([]byte, error) {
	all := known{files: map[string]*descriptorpb.FileDescriptorProto{}}
	var err error
	if len(from.Names) > 0 {
		err = from.read(ctx, &all)
	} else {
		err = reflection(ctx, spec, local, &all)
	}
	if err != nil {
		return nil, err
	}
	schema, err := all.schema()
	if err != nil {
		return nil, err
	}
	var methods []*grpc.Method
	for _, called := range spec.Methods() {
		service, name, err := grpc.SplitPath(called.Path)
		if err != nil {
			return nil, fmt.Errorf("url: %w", err)
		}
		m, err := schema.Method(service, name)
		if err != nil {
			return nil, fmt.Errorf("url: %w", err)
		}
		if !slices.ContainsFunc(methods, func(o *grpc.Method) bool { return o.Path() == m.Path() }) {
			methods = append(methods, m)
		}
	}
	return schema.Pruned(methods)
}

// known are the files that are known so far, by their names.
type known struct {
	files map[string]*descriptorpb.FileDescriptorProto
	bytes int
}

// add adds an encoded file. Two files of one name must be equal.
func (k *known) add(encoded []byte) (*descriptorpb.FileDescriptorProto, error) {
	f := &descriptorpb.FileDescriptorProto{}
	if proto.Unmarshal(encoded, f) != nil {
		return nil, errors.New("a description is no FileDescriptorProto")
	}
	name := f.GetName()
	if other := k.files[name]; other != nil {
		if !same(f, other) {
			return nil, fmt.Errorf("%.200s is described in two ways; call the servers in runs of their own", name)
		}
		return other, nil
	}
	if k.bytes += len(encoded); len(k.files) >= mostFiles || k.bytes > mostBytes {
		return nil, fmt.Errorf("the descriptions have more than %d files or %d MiB; give a smaller --proto FILE", mostFiles, mostBytes>>20)
	}
	k.files[name] = f
	return f, nil
}

// same reports whether two files say the same.
func same(a, b *descriptorpb.FileDescriptorProto) bool {
	encode := func(f *descriptorpb.FileDescriptorProto) []byte {
		f = proto.CloneOf(f)
		f.SourceCodeInfo = nil
		b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(f) // it was unmarshaled
		return b
	}
	return bytes.Equal(encode(a), encode(b))
}

// missing returns the first name, in their order, of a file that another one imports and that is not known; "" if there is
// none.
func (k *known) missing() (first string) {
	for _, f := range k.files {
		for _, name := range f.GetDependency() {
			if k.files[name] == nil && (first == "" || name < first) {
				first = name
			}
		}
	}
	return first
}

// schema links the files.
func (k *known) schema() (*grpc.Schema, error) {
	if name := k.missing(); name != "" {
		return nil, fmt.Errorf("the description of %.200s is missing; make the set with protoc --include_imports", name)
	}
	set := &descriptorpb.FileDescriptorSet{}
	for _, f := range k.files {
		set.File = append(set.File, f)
	}
	slices.SortFunc(set.File, func(a, b *descriptorpb.FileDescriptorProto) int { return strings.Compare(a.GetName(), b.GetName()) })
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("the descriptions do not fit together: %.200w", err)
	}
	return grpc.NewSchema(files), nil
}
