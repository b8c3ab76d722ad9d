package grpc

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Pruned returns an encoded google.protobuf.FileDescriptorSet with some methods and the types of their messages, and
// nothing else: no other methods, comments, options of others, or extensions. Equal methods give equal bytes, wherever
// their description comes from.
func (s *Schema) Pruned(methods []*Method) ([]byte, error) {
	p := pruner{kept: map[protoreflect.FullName]bool{}, files: map[string]protoreflect.FileDescriptor{}}
	for _, m := range methods {
		p.keep(m.d.Parent())
		p.kept[m.d.FullName()] = true
		p.keep(m.d.Input())
		p.keep(m.d.Output())
	}
	set := &descriptorpb.FileDescriptorSet{}
	for _, f := range p.files {
		file, err := p.prune(f)
		if err != nil {
			return nil, err
		}
		set.File = append(set.File, file)
	}
	slices.SortFunc(set.File, func(a, b *descriptorpb.FileDescriptorProto) int { return cmp.Compare(a.GetName(), b.GetName()) })
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err == nil && len(b) > MaxDescriptors {
		err = fmt.Errorf("the descriptions of the messages have %d bytes, at most %d KiB; call a method with smaller messages", len(b), MaxDescriptors>>10)
	}
	return b, err
}

// A pruner notes what is needed: outermost messages and enums, services and methods, by name; and their files.
type pruner struct {
	kept  map[protoreflect.FullName]bool
	files map[string]protoreflect.FileDescriptor
}

// keep keeps what is declared outermost around d, with all that it needs.
func (p *pruner) keep(d protoreflect.Descriptor) {
	for d.Parent() != d.ParentFile() {
		d = d.Parent()
	}
	if p.kept[d.FullName()] {
		return
	}
	p.kept[d.FullName()] = true
	p.files[d.ParentFile().Path()] = d.ParentFile()
	if m, isMessage := d.(protoreflect.MessageDescriptor); isMessage {
		p.fields(m)
	}
}

// fields keeps the types of the fields of a message, and of the messages in it.
func (p *pruner) fields(m protoreflect.MessageDescriptor) {
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if f.Message() != nil {
			p.keep(f.Message())
		}
		if f.Enum() != nil {
			p.keep(f.Enum())
		}
	}
	for i := range m.Messages().Len() {
		p.fields(m.Messages().Get(i))
	}
}

// prune returns a file with what is kept of it.
func (p *pruner) prune(f protoreflect.FileDescriptor) (*descriptorpb.FileDescriptorProto, error) {
	whole, err := plain(protodesc.ToFileDescriptorProto(f))
	if err != nil {
		return nil, err
	}
	prefix := func(name string) protoreflect.FullName { return f.Package().Append(protoreflect.Name(name)) }
	whole.SourceCodeInfo, whole.Extension, whole.Dependency, whole.PublicDependency, whole.WeakDependency, whole.OptionDependency = nil, nil, nil, nil, nil, nil
	whole.Options = &descriptorpb.FileOptions{Features: whole.GetOptions().GetFeatures()}
	whole.MessageType = slices.DeleteFunc(whole.MessageType, func(m *descriptorpb.DescriptorProto) bool { return !p.kept[prefix(m.GetName())] })
	whole.EnumType = slices.DeleteFunc(whole.EnumType, func(e *descriptorpb.EnumDescriptorProto) bool { return !p.kept[prefix(e.GetName())] })
	whole.Service = slices.DeleteFunc(whole.Service, func(s *descriptorpb.ServiceDescriptorProto) bool { return !p.kept[prefix(s.GetName())] })
	for _, s := range whole.Service {
		s.Method = slices.DeleteFunc(s.Method, func(m *descriptorpb.MethodDescriptorProto) bool {
			return !p.kept[prefix(s.GetName()).Append(protoreflect.Name(m.GetName()))]
		})
	}
	for _, m := range whole.MessageType {
		dropExtensions(m)
	}
	p.imports(f, whole)
	return whole, nil
}

// imports notes which other files a file needs: all whose types its own ones name.
func (p *pruner) imports(f protoreflect.FileDescriptor, file *descriptorpb.FileDescriptorProto) {
	needed := map[string]bool{}
	note := func(d protoreflect.Descriptor) {
		if path := d.ParentFile().Path(); path != f.Path() {
			needed[path] = true
		}
	}
	var walk func(m protoreflect.MessageDescriptor)
	walk = func(m protoreflect.MessageDescriptor) {
		for i := range m.Fields().Len() {
			if t := m.Fields().Get(i).Message(); t != nil {
				note(t)
			}
			if t := m.Fields().Get(i).Enum(); t != nil {
				note(t)
			}
		}
		for i := range m.Messages().Len() {
			walk(m.Messages().Get(i))
		}
	}
	for _, m := range file.MessageType {
		walk(f.Messages().ByName(protoreflect.Name(m.GetName())))
	}
	for _, s := range file.Service {
		for _, m := range s.Method {
			d := f.Services().ByName(protoreflect.Name(s.GetName())).Methods().ByName(protoreflect.Name(m.GetName()))
			note(d.Input())
			note(d.Output())
		}
	}
	for path := range needed {
		file.Dependency = append(file.Dependency, path)
	}
	slices.Sort(file.Dependency)
}

// plain returns a file without options that are extensions: nobody needs them here.
func plain(f *descriptorpb.FileDescriptorProto) (*descriptorpb.FileDescriptorProto, error) {
	b, err := proto.Marshal(f)
	if err != nil {
		return nil, err
	}
	known := &descriptorpb.FileDescriptorProto{}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true, Resolver: noExtensions{}}).Unmarshal(b, known); err != nil {
		return nil, err
	}
	return known, nil
}

// dropExtensions drops extensions that a message declares, and those in it.
func dropExtensions(m *descriptorpb.DescriptorProto) {
	m.Extension = nil
	for _, inner := range m.NestedType {
		dropExtensions(inner)
	}
}

// noExtensions knows no extensions.
type noExtensions struct{}

// FindExtensionByName and FindExtensionByNumber implement the resolver of package proto.
func (noExtensions) FindExtensionByName(protoreflect.FullName) (protoreflect.ExtensionType, error) {
	return nil, protoregistry.NotFound
}

func (noExtensions) FindExtensionByNumber(protoreflect.FullName, protoreflect.FieldNumber) (protoreflect.ExtensionType, error) {
	return nil, protoregistry.NotFound
}
