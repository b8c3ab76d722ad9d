package grpc

import (
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Bounds of messages that are shown as JSON, in bytes.
const (
	MaxShown     = 256 << 10
	mostDefaults = 64 << 10 // then fields with default values are left out
)

// deepest is how deep messages may lie in one another, as package proto has it by default for JSON.
const deepest = 1000

// ShowRequest returns a request, with its prefix as AppendMessage makes it, as JSON; as it is if it is none.
func (m *Method) ShowRequest(request []byte) []byte {
	if len(request) < prefix {
		return request
	}
	if text := m.appendJSONOf(m.d.Input(), nil, request[prefix:], MaxShown); len(text) > 0 {
		return text
	}
	return request
}

// appendJSON appends a message of an answer as JSON, up to a number of bytes; nothing if it is none.
func (m *Method) appendJSON(b, message []byte, most int) []byte {
	return m.appendJSONOf(m.d.Output(), b, message, most)
}

// appendJSONOf is appendJSON for messages of some type.
func (m *Method) appendJSONOf(kind protoreflect.MessageDescriptor, b, message []byte, most int) []byte {
	answer := dynamicpb.NewMessage(kind)
	if (proto.UnmarshalOptions{Resolver: m.types, RecursionLimit: deepest}).Unmarshal(message, answer) != nil {
		return b
	}
	defaults := len(message) <= mostDefaults // many empty messages with all their fields would be long
	if l := (length{left: most, defaults: defaults, types: m.types}); !l.message(answer, deepest) {
		return b
	}
	text, err := protojson.MarshalOptions{Resolver: m.types, EmitDefaultValues: defaults}.MarshalAppend(b, answer)
	if err != nil || len(text)-len(b) > most {
		return b
	}
	return text
}

// A length bounds what a message has as JSON before it is made, at least by its names: a server itself sends the names
// of fields and values, and two bytes may stand for a name of a megabyte.
type length struct {
	left     int // bytes
	defaults bool
	types    *dynamicpb.Types
	empty    map[protoreflect.FullName]int // bytes of the names of a type
}

// take takes bytes. It reports false if there are not as many.
func (l *length) take(n int) bool {
	l.left -= n
	return l.left >= 0
}

// message reports whether a message fits.
func (l *length) message(m protoreflect.Message, deep int) bool {
	if deep == 0 || l.defaults && !l.take(l.names(m.Descriptor())) {
		return false
	}
	if m.Descriptor().FullName() == "google.protobuf.Any" {
		return l.anything(m, deep)
	}
	fits := l.take(2)
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		fits = fits && l.take(len(f.JSONName())+4) && l.field(f, v, deep)
		return fits
	})
	return fits
}

// names returns how long the names of the fields of a type are.
func (l *length) names(d protoreflect.MessageDescriptor) int {
	n, known := l.empty[d.FullName()]
	if known {
		return n
	}
	for i := range d.Fields().Len() {
		n += len(d.Fields().Get(i).JSONName()) + 4
		if e := d.Fields().Get(i).Enum(); e != nil && e.Values().Len() > 0 {
			n += len(e.Values().Get(0).Name())
		}
	}
	if l.empty == nil {
		l.empty = map[protoreflect.FullName]int{}
	}
	l.empty[d.FullName()] = n
	return n
}

// field reports whether the values of a field fit.
func (l *length) field(f protoreflect.FieldDescriptor, v protoreflect.Value, deep int) bool {
	switch {
	case f.IsList():
		for i := range v.List().Len() {
			if !l.value(f, v.List().Get(i), deep) {
				return false
			}
		}
		return true
	case f.IsMap():
		fits := true
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			fits = l.take(len(k.String())+4) && l.value(f.MapValue(), v, deep)
			return fits
		})
		return fits
	}
	return l.value(f, v, deep)
}

// value reports whether one value fits.
func (l *length) value(f protoreflect.FieldDescriptor, v protoreflect.Value, deep int) bool {
	switch {
	case f.Message() != nil:
		return l.message(v.Message(), deep-1)
	case f.Enum() != nil:
		if named := f.Enum().Values().ByNumber(v.Enum()); named != nil {
			return l.take(len(named.Name()))
		}
	case f.Kind() == protoreflect.StringKind:
		return l.take(len(v.String()))
	case f.Kind() == protoreflect.BytesKind:
		return l.take(len(v.Bytes()))
	}
	return l.take(1)
}

// anything reports whether the message in a google.protobuf.Any fits. One of another type is no JSON anyway.
func (l *length) anything(m protoreflect.Message, deep int) bool {
	fields := m.Descriptor().Fields()
	url, value := fields.ByNumber(1), fields.ByNumber(2)
	if url == nil || value == nil || url.Kind() != protoreflect.StringKind || value.Kind() != protoreflect.BytesKind || url.IsList() || value.IsList() {
		return false
	}
	t, err := l.types.FindMessageByURL(m.Get(url).String())
	if err != nil {
		return l.take(len(m.Get(url).String()))
	}
	inner := t.New()
	if (proto.UnmarshalOptions{Resolver: l.types, RecursionLimit: deepest}).Unmarshal(m.Get(value).Bytes(), inner.Interface()) != nil {
		return false
	}
	return l.take(len(m.Get(url).String())) && l.message(inner, deep-1)
}
