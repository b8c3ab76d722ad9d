package schema

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/loadctl/loadctl/internal/proof/rpctest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/grpc"
	"github.com/loadctl/loadctl/targets/wire"
)

// greets returns the spec of a call.
func greets(body string) targets.Spec {
	return targets.Spec{URL: "grpc://127.0.0.1:1/helloworld.Greeter/SayHello", Body: []byte(body)}
}

// TestFiles: a .proto file and a set of the same give the same description, with which the call is valid.
func TestFiles(t *testing.T) {
	spec := greets(`{"name": {"first": "ann"}, "at": "2026-01-01T00:00:00Z"}`)
	b, err := Describe(t.Context(), spec, targets.Local{}, Files{Names: []string{"testdata/greeter.proto"}})
	if err != nil {
		t.Fatal(err)
	}
	if spec.Descriptors = b; wire.Validate(spec) != nil {
		t.Error(wire.Validate(spec))
	}
	if bytes.Contains(b, []byte("comment")) || bytes.Contains(b, []byte("Other")) {
		t.Errorf("%q", b)
	}
	there, err := Describe(t.Context(), spec, targets.Local{}, Files{Names: []string{"testdata/../testdata/greeter.proto"}, Paths: []string{"testdata/parts", "testdata"}})
	if err != nil || len(there) == 0 {
		t.Errorf("with paths: %v", err)
	}
	file := filepath.Join(t.TempDir(), "set.pb")
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(b, set); err != nil {
		t.Fatal(err)
	}
	encoded, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	of, err := Describe(t.Context(), spec, targets.Local{}, Files{Names: []string{file}})
	if err != nil || !bytes.Equal(of, b) {
		t.Errorf("of a set: %v", err)
	}
	if _, err := grpc.ReadSchema(of); err != nil {
		t.Error(err)
	}
}

// TestReflection: a server of gRPC's own library, and ours, say what a method takes.
func TestReflection(t *testing.T) {
	s := rpctest.Start(t)
	echo, err := arrivals.Start(arrivals.Options{Echo: arrivals.Calls})
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	for _, spec := range []targets.Spec{
		{URL: s.URL("UnaryCall"), Body: []byte(`{"responseSize": 1}`)},
		{URL: echo.URL() + "/loadctl.Echo/Say", Body: []byte(`{"text": "a"}`)},
	} {
		b, err := Describe(t.Context(), spec, targets.Local{}, Files{})
		if err != nil {
			t.Fatal(err)
		}
		if spec.Descriptors = b; wire.Validate(spec) != nil {
			t.Error(wire.Validate(spec))
		}
	}
	if s.Calls() > 0 || echo.Count() > 0 {
		t.Errorf("%d and %d calls", s.Calls(), echo.Count())
	}
}

// TestCircles: a server that answers each question with the same file is not asked forever.
func TestCircles(t *testing.T) {
	file, err := proto.Marshal(&descriptorpb.FileDescriptorProto{Name: new("a.proto"), Dependency: []string{"gone.proto"}})
	if err != nil {
		t.Fatal(err)
	}
	wrapped := protowire.AppendBytes([]byte{1<<3 | 2}, file)
	answer := protowire.AppendBytes([]byte{4<<3 | 2}, wrapped)
	asked := 0
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
		_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(answer))), answer...))
	}))
	web.Config.Protocols = new(http.Protocols)
	web.Config.Protocols.SetUnencryptedHTTP2(true)
	web.Start()
	defer web.Close()
	_, err = Describe(t.Context(), targets.Spec{URL: "grpc" + strings.TrimPrefix(web.URL, "http") + "/a.B/C"}, targets.Local{}, Files{})
	if err == nil || !strings.Contains(err.Error(), "the server does not tell what gone.proto has") || asked != 2 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}

// TestErrors: what cannot be described is one line that says what to do.
func TestErrors(t *testing.T) {
	s := rpctest.Start(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := rpctest.Serve(t, l, false)
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	text := filepath.Join(t.TempDir(), "x.pb")
	broken := filepath.Join(t.TempDir(), "x.proto")
	for name, content := range map[string]string{text: "hello", broken: "syntax = \"proto3\";\nimport \"gone.proto\";\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		url   string
		files []string
		want  string
	}{
		{s.URL("Unary"), nil, `url: service grpc.testing.TestService has no method "Unary"; it has EmptyCall, UnaryCall`},
		{"grpc://" + s.Addr + "/a.B/C", nil, `there is no service "a.B"; there is grpc.testing.TestService`},
		{silent.URL("UnaryCall"), nil, "the server does not tell what it offers (reflection); give --proto FILE"},
		{"grpc://127.0.0.1:1/a.B/C", nil, "dial tcp 127.0.0.1:1: connect: connection refused; start the server, or give --proto FILE"},
		{"grpc://" + web.Listener.Addr().String() + "/a.B/C", nil, "the server does not speak HTTP/2; check the port in --url, or write grpcs:// if the server wants TLS: gRPC needs HTTP/2"},
		{"grpcs://" + web.Listener.Addr().String() + "/a.B/C", nil, "; the server does not speak TLS: write grpc:// in --url"},
		{s.URL("UnaryCall"), []string{"testdata/greeter.proto"}, `there is no service "grpc.testing.TestService"; there is helloworld.Greeter`},
		{s.URL("UnaryCall"), []string{"gone.proto"}, "--proto gone.proto: stat gone.proto: no such file or directory; give the path"},
		{s.URL("UnaryCall"), []string{text}, "is no descriptor set; make one with protoc --descriptor_set_out"},
		{s.URL("UnaryCall"), []string{broken}, "--proto-path DIR says where imports lie"},
	} {
		_, err := Describe(t.Context(), targets.Spec{URL: c.url}, targets.Local{}, Files{Names: c.files})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", c.url, err, c.want)
		}
	}
}
