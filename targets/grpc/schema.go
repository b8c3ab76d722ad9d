package grpc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// MaxDescriptors bounds what describes the methods of a run, in bytes: it travels with the run.
const MaxDescriptors = 1 << 20

// mostListed is how many names an error lists.
const mostListed = 20

// A Schema knows services and the types of their messages. It never changes, so any number of goroutines may use it.
type Schema struct {
	files *protoregistry.Files
	types *dynamicpb.Types // for google.protobuf.Any
}

// NewSchema returns the schema that files describe.
func NewSchema(files *protoregistry.Files) *Schema { return &Schema{files, dynamicpb.NewTypes(files)} }

// ReadSchema returns the schema of an encoded google.protobuf.FileDescriptorSet, with all that its files import.
func ReadSchema(set []byte) (*Schema, error) {
	if len(set) > MaxDescriptors {
		return nil, fmt.Errorf("descriptors: %d bytes are more than %d KiB; the messages of the method are too many", len(set), MaxDescriptors>>10)
	}
	var all descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(set, &all); err != nil {
		return nil, errors.New("descriptors: they are no FileDescriptorSet; create the run again")
	}
	files, err := protodesc.NewFiles(&all)
	if err != nil {
		return nil, fmt.Errorf("descriptors: %.200w; create the run again", err)
	}
	return NewSchema(files), nil
}

// SplitPath returns service and method of the path of a URL: /SERVICE/METHOD.
func SplitPath(path string) (service, method string, err error) {
	service, method, found := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !found || !protoreflect.FullName(service).IsValid() || !protoreflect.Name(method).IsValid() {
		return "", "", errors.New("the path is no method; write grpc://HOST:PORT/package.Service/Method")
	}
	return service, method, nil
}

// Services returns the names of all services, sorted.
func (s *Schema) Services() (names []string) {
	s.files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			names = append(names, string(f.Services().Get(i).FullName()))
		}
		return true
	})
	slices.Sort(names)
	return names
}

// Method returns a method by its service and name. Its error lists what there is.
func (s *Schema) Method(service, method string) (*Method, error) {
	found, err := s.files.FindDescriptorByName(protoreflect.FullName(service))
	d, ok := found.(protoreflect.ServiceDescriptor)
	if err != nil || !ok {
		return nil, NoService(service, s.Services())
	}
	m := d.Methods().ByName(protoreflect.Name(method))
	if m == nil {
		var names []string
		for i := range d.Methods().Len() {
			names = append(names, string(d.Methods().Get(i).Name()))
		}
		return nil, fmt.Errorf("service %s has no method %.100q; it has %s", service, method, listed(names))
	}
	return &Method{m, s.types, fmt.Sprintf("/%s/%s", service, method)}, nil
}

// NoService is the error that there is no such service, with those that there are.
func NoService(service string, all []string) error {
	if len(all) == 0 {
		return fmt.Errorf("there is no service %.200q, and no other one", service)
	}
	return fmt.Errorf("there is no service %.200q; there is %s", service, listed(all))
}

// listed joins names for people, not too many.
func listed(names []string) string {
	if more := len(names) - mostListed; more > 0 {
		return strings.Join(names[:mostListed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// A Method is what a call calls. Any number of goroutines may use it.
type Method struct {
	d     protoreflect.MethodDescriptor
	types *dynamicpb.Types
	path  string
}

// Path returns /SERVICE/METHOD.
func (m *Method) Path() string { return m.path }

// Streams reports whether a server may answer with any number of messages.
func (m *Method) Streams() bool { return m.d.IsStreamingServer() }

// Takes reports whether a request may have any number of messages.
func (m *Method) Takes() bool { return m.d.IsStreamingClient() }
