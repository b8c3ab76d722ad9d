package grpc

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

// named describes a method whose messages have names that a hostile server has chosen.
func named(t *testing.T, name string) *Method {
	t.Helper()
	text := fmt.Sprintf(`{"file": [
 {"name": "google/protobuf/any.proto", "package": "google.protobuf", "syntax": "proto3", "messageType": [{"name": "Any", "field": [
    {"name": "type_url", "number": 1, "type": "TYPE_STRING", "label": "LABEL_OPTIONAL", "jsonName": "typeUrl"},
    {"name": "value", "number": 2, "type": "TYPE_BYTES", "label": "LABEL_OPTIONAL", "jsonName": "value"}]}]},
 {"name": "s.proto", "package": "s", "syntax": "proto3", "dependency": ["google/protobuf/any.proto"],
  "messageType": [{"name": "Inner", "field": [{"name": "%[1]s", "number": 1, "type": "TYPE_BOOL", "label": "LABEL_OPTIONAL", "jsonName": "%[1]s"}]},
   {"name": "Out", "field": [
    {"name": "of", "number": 1, "type": "TYPE_MESSAGE", "typeName": ".s.Inner", "label": "LABEL_REPEATED", "jsonName": "of"},
    {"name": "kinds", "number": 2, "type": "TYPE_ENUM", "typeName": ".s.Kind", "label": "LABEL_REPEATED", "jsonName": "kinds"},
    {"name": "any", "number": 3, "type": "TYPE_MESSAGE", "typeName": ".google.protobuf.Any", "label": "LABEL_OPTIONAL", "jsonName": "any"},
    {"name": "text", "number": 4, "type": "TYPE_STRING", "label": "LABEL_OPTIONAL", "jsonName": "text"}]}],
  "enumType": [{"name": "Kind", "value": [{"name": "NONE", "number": 0}, {"name": "%[1]s", "number": 1}]}],
  "service": [{"name": "S", "method": [{"name": "Do", "inputType": ".s.Out", "outputType": ".s.Out"}]}]}]}`, name)
	set := &descriptorpb.FileDescriptorSet{}
	if err := protojson.Unmarshal([]byte(text), set); err != nil {
		t.Fatal(err)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewSchema(files).Method("s.S", "Do")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestShownIsBounded: a short message that would be a long JSON text is not made into one.
func TestShownIsBounded(t *testing.T) {
	request := func(m *Method, body string) []byte {
		b, err := m.AppendRequest(nil, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	list := func(one string, n int) string { return "[" + strings.Repeat(one+",", n-1) + one + "]" }
	short, long := named(t, "n"), named(t, strings.Repeat("n", 100_000))
	for _, c := range []struct {
		name, body string // for the short name
		deep       int    // so many google.protobuf.Any around it
	}{
		{"names of fields", `{"of": ` + list(`{"n": true}`, 10_000) + `}`, 0},
		{"names of fields with default values", `{"of": ` + list(`{}`, 10_000) + `}`, 0},
		{"names of values", `{"kinds": ` + list(`"n"`, 10_000) + `}`, 0},
		{"names in Any", `{"kinds": ` + list(`"n"`, 10_000) + `}`, 3},
	} {
		message := request(short, c.body)
		for range c.deep {
			message = protowire.AppendBytes([]byte("\x0a\x06/s.Out\x12"), message)
			message = protowire.AppendBytes([]byte{3<<3 | 2}, message)
		}
		if text := short.appendJSON(nil, message, 1<<20); len(text) == 0 {
			t.Errorf("%s: nothing is shown with short names", c.name)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if text := long.appendJSON(nil, message, 1<<20); len(text) > 0 {
			t.Errorf("%s: %d bytes are shown", c.name, len(text))
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
			t.Errorf("%s: %d bytes were allocated", c.name, n)
		}
	}
	text := strings.Repeat("x", 200_000)
	if got := short.appendJSON(nil, request(short, `{"text": "`+text+`"}`), 1<<20); len(got) < len(text) {
		t.Errorf("of a long text %d bytes are shown", len(got))
	}
}
