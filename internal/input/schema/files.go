package schema

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Files are files that describe services: .proto files, and sets as protoc writes them with --descriptor_set_out and
// --include_imports.
type Files struct {
	Names []string
	Paths []string // where .proto files and their imports lie; none means beside each file
}

// read adds all files.
func (f Files) read(ctx context.Context, all *known) error {
	for _, name := range f.Names {
		var err error
		if strings.HasSuffix(name, ".proto") {
			err = f.compile(ctx, name, all)
		} else {
			err = readSet(name, all)
		}
		if err != nil {
			return fmt.Errorf("--proto %.200s: %w", name, err)
		}
	}
	return nil
}

// readSet reads a set.
func readSet(name string, all *known) error {
	info, err := os.Stat(name)
	if err != nil {
		return fmt.Errorf("%w; give the path of a file that can be read", err)
	}
	if info.Size() > mostBytes {
		return fmt.Errorf("has more than %d MiB; give a smaller one", mostBytes>>20)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("%w; give the path of a file that can be read", err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if proto.Unmarshal(content, set) != nil || len(set.GetFile()) == 0 {
		return fmt.Errorf("is no descriptor set; make one with protoc --descriptor_set_out, or give a file that ends with .proto")
	}
	for _, file := range set.GetFile() {
		if err := add(file, all); err != nil {
			return err
		}
	}
	return nil
}

// add adds a file that was read.
func add(file *descriptorpb.FileDescriptorProto, all *known) error {
	encoded, err := proto.Marshal(file)
	if err != nil {
		return err
	}
	_, err = all.add(encoded)
	return err
}

// compile reads a .proto file, and what it imports.
func (f Files) compile(ctx context.Context, name string, all *known) error {
	if _, err := os.Stat(name); err != nil {
		return fmt.Errorf("%w; give the path of a file that can be read", err)
	}
	imported := name // by the name that others import it by
	paths := f.Paths
	for _, dir := range f.Paths {
		if inside, err := filepath.Rel(dir, name); err == nil && !strings.HasPrefix(inside, "..") {
			imported = filepath.ToSlash(inside)
			break
		}
	}
	if imported == name {
		imported, paths = filepath.Base(name), append([]string{filepath.Dir(name)}, paths...)
	}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: paths})}
	files, err := compiler.Compile(ctx, imported)
	if err != nil {
		return fmt.Errorf("%.300w; --proto-path DIR says where imports lie", err)
	}
	for _, file := range files {
		if err := addAll(file, all); err != nil {
			return err
		}
	}
	return nil
}

// addAll adds a file, and what it imports.
func addAll(file protoreflect.FileDescriptor, all *known) error {
	if all.files[file.Path()] != nil {
		return nil
	}
	if err := add(protodesc.ToFileDescriptorProto(file), all); err != nil {
		return err
	}
	for i := range file.Imports().Len() {
		if err := addAll(file.Imports().Get(i).FileDescriptor, all); err != nil {
			return err
		}
	}
	return nil
}
