package grpc

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/loadctl/loadctl/targets/status"
)

// described is a schema: a file that imports another one, with more than the method needs.
const described = `{"file": [
 {"name": "types.proto", "package": "t", "syntax": "proto3",
  "messageType": [{"name": "Unused"},
   {"name": "Deep", "field": [{"name": "kind", "number": 1, "type": "TYPE_ENUM", "typeName": ".t.Kind", "label": "LABEL_OPTIONAL", "jsonName": "kind"},
                              {"name": "again", "number": 2, "type": "TYPE_MESSAGE", "typeName": ".t.Deep", "label": "LABEL_OPTIONAL", "jsonName": "again"}]}],
  "enumType": [{"name": "Kind", "value": [{"name": "NONE", "number": 0}, {"name": "SOME", "number": 1}]}, {"name": "Other", "value": [{"name": "X", "number": 0}]}]},
 {"name": "unused.proto", "package": "u", "syntax": "proto3", "messageType": [{"name": "M"}]},
 {"name": "service.proto", "package": "s", "syntax": "proto3", "dependency": ["types.proto", "unused.proto"],
  "options": {"goPackage": "x"},
  "messageType": [{"name": "In", "field": [{"name": "some_text", "number": 1, "type": "TYPE_STRING", "label": "LABEL_OPTIONAL", "jsonName": "someText"},
                                            {"name": "of", "number": 2, "type": "TYPE_MESSAGE", "typeName": ".s.Out.Inner", "label": "LABEL_REPEATED", "jsonName": "of"}]},
                  {"name": "Out", "nestedType": [{"name": "Inner", "field": [{"name": "deep", "number": 1, "type": "TYPE_MESSAGE", "typeName": ".t.Deep", "label": "LABEL_OPTIONAL", "jsonName": "deep"}]}]},
                  {"name": "Lonely"}],
  "service": [{"name": "S", "method": [{"name": "Do", "inputType": ".s.In", "outputType": ".s.Out"}, {"name": "Skip", "inputType": ".s.Lonely", "outputType": ".u.M"}]},
              {"name": "Empty"}]}]}`

func newSchema(t *testing.T) *Schema {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	if err := protojson.Unmarshal([]byte(described), set); err != nil {
		t.Fatal(err)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	return NewSchema(files)
}

// TestPruned: what is kept is all that the method needs, and nothing else; it means the same, and is the same each time.
func TestPruned(t *testing.T) {
	s := newSchema(t)
	m, err := s.Method("s.S", "Do")
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Pruned([]*Method{m})
	if err != nil {
		t.Fatal(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(b, &set); err != nil {
		t.Fatal(err)
	}
	text := set.String()
	for _, name := range []string{"Unused", "Other", "unused.proto", "Lonely", "Skip", "Empty", "goPackage", "go_package"} {
		if strings.Contains(text, `"`+name+`"`) || strings.Contains(text, name+":") {
			t.Errorf("%s is kept: %s", name, text)
		}
	}
	again, err := ReadSchema(b)
	if err != nil {
		t.Fatal(err)
	}
	m2, err := again.Method("s.S", "Do")
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"some_text": "a", "of": [{"deep": {"kind": "SOME", "again": {}}}, {}]}`
	x, err1 := m.AppendRequest(nil, []byte(body))
	y, err2 := m2.AppendRequest(nil, []byte(body))
	if err1 != nil || err2 != nil || len(x) == 0 || !bytes.Equal(x, y) {
		t.Errorf("%x, %v; %x, %v", x, err1, y, err2)
	}
	c, err := again.Pruned([]*Method{m2})
	if err != nil || !bytes.Equal(b, c) {
		t.Errorf("pruned again it differs: %v", err)
	}
}

func TestRequestErrors(t *testing.T) {
	m, err := newSchema(t).Method("s.S", "Do")
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]struct {
		says  string
		shape bool
	}{
		"": {}, " \n": {}, "{}": {}, `{"someText": "hunter2", "of": null}`: {},
		`{"text": "hunter2"}`:                     {`message s.In has no field "text" at line 1, column 2; it has someText, of`, true},
		`{"of": [{"deep": {"kinds": 1}}]}`:        {`message s.In has no field "kinds"`, true},
		`["hunter2"]`:                             {"message s.In: the text is not a JSON object", true},
		`hunter2`:                                 {"message s.In: the text is not a JSON object", true},
		`{"someText": "hunter2"`:                  {"message s.In: the text is not a JSON object", true},
		`{"someText": 5}`:                         {"message s.In: the value at line 1, column 14 does not fit the field someText of kind string", false},
		`{"of": [{"deep": {"kind": "hunter2"}}]}`: {"message s.In: the value", false},
		`{"someText": "a", "some_text": "b"}`:     {"message s.In: the value", false},
		strings.Repeat(`{"of":[{"deep":`, 2000):   {"message s.In", true},
	} {
		_, err := m.AppendRequest(nil, []byte(body))
		wrong, _ := errors.AsType[*MessageError](err)
		switch {
		case want.says == "" && err != nil:
			t.Errorf("%.40s: %v", body, err)
		case want.says == "":
		case wrong == nil || !strings.HasPrefix(err.Error(), want.says) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n"):
			t.Errorf("%.40s: %v, want %s", body, err, want.says)
		case wrong.Shape != want.shape && len(body) < 1000:
			t.Errorf("%.40s: shape %v", body, wrong.Shape)
		}
	}
}

// fake is a reply.
type fake struct {
	http             int
	messages         int64
	fields, trailers map[string]string
	content          string
}

func (f fake) Status() int                  { return f.http }
func (f fake) Content() []byte              { return []byte(f.content) }
func (f fake) Length() int64                { return int64(len(f.content)) }
func (f fake) Messages() int64              { return f.messages }
func (f fake) Field(name string) []string   { return one(f.fields, name) }
func (f fake) Trailer(name string) []string { return one(f.trailers, name) }

func one(m map[string]string, name string) []string {
	if v, ok := m[name]; ok {
		return []string{v}
	}
	return nil
}

func TestAnswer(t *testing.T) {
	m, err := newSchema(t).Method("s.S", "Do")
	if err != nil {
		t.Fatal(err)
	}
	code := func(s string) map[string]string { return map[string]string{"grpc-status": s} }
	for _, c := range []struct {
		reply fake
		name  string
		bad   bool
	}{
		{fake{http: 200, messages: 1, trailers: code("0")}, "OK", false},
		{fake{http: 200, messages: 0, trailers: code("0")}, "OK", true},
		{fake{http: 200, messages: 2, trailers: code("0")}, "OK", true},
		{fake{http: 200, fields: code("5")}, "NOT_FOUND", false},
		{fake{http: 200, fields: code("0")}, "OK", true},
		{fake{http: 200, trailers: code("16")}, "UNAUTHENTICATED", false},
		{fake{http: 200, trailers: code("17")}, "UNKNOWN", false},
		{fake{http: 200, trailers: code("-1")}, "UNKNOWN", false},
		{fake{http: 200, trailers: code("")}, "UNKNOWN", false},
		{fake{http: 200, trailers: code("99999999999999999999")}, "UNKNOWN", false},
		{fake{http: 200, messages: 1}, "0", true},
		{fake{http: 400}, "INTERNAL", false}, {fake{http: 401}, "UNAUTHENTICATED", false}, {fake{http: 403}, "PERMISSION_DENIED", false},
		{fake{http: 404}, "UNIMPLEMENTED", false}, {fake{http: 429}, "UNAVAILABLE", false}, {fake{http: 502}, "UNAVAILABLE", false}, {fake{http: 500}, "UNKNOWN", false},
		{fake{http: 503, trailers: code("8")}, "RESOURCE_EXHAUSTED", false},
	} {
		a := NewAnswer(c.reply, m)
		if name := status.Name(a.Status()); name != c.name || (a.Err() != nil) != c.bad {
			t.Errorf("%+v: %s, %v", c.reply, name, a.Err())
		}
	}
	if text := NewAnswer(fake{messages: 1, content: "\xff"}, m).Content(); len(text) > 0 {
		t.Errorf("of no message: %s", text)
	}
}

func TestSplitPath(t *testing.T) {
	for path, ok := range map[string]bool{"/a.B/C": true, "/B/C": true, "/": false, "": false, "/a": false, "/a/": false, "/a/b/c": false, "/a b/c": false, "/a..b/c": false} {
		if _, _, err := SplitPath(path); (err == nil) != ok {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// FuzzSchema: whatever describes a method, reading it neither panics nor takes forever.
func FuzzSchema(f *testing.F) {
	set := &descriptorpb.FileDescriptorSet{}
	if err := protojson.Unmarshal([]byte(described), set); err != nil {
		f.Fatal(err)
	}
	b, err := proto.Marshal(set)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, "s.S", "Do", []byte(`{"of": [{}]}`))
	f.Fuzz(func(_ *testing.T, b []byte, service, method string, body []byte) {
		s, err := ReadSchema(b)
		if err != nil {
			return
		}
		m, err := s.Method(service, method)
		if err != nil {
			return
		}
		if x, err := m.AppendRequest(nil, body); err == nil {
			m.appendJSON(nil, x, 1000)
		}
		_, _ = s.Pruned([]*Method{m})
	})
}
