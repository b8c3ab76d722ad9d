package arrivals

import (
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// The service that is served.
const (
	echoService = "loadctl.Echo"
	echoPath    = "/" + echoService + "/"
	echoFile    = "loadctl/echo.proto"
)

// Fields of loadctl.Words.
const (
	wordsText = iota + 1
	wordsNumber
	wordsTimes
	wordsCode
)

// echoDescriptor describes the service, as a .proto file would:
//
//	service Echo {
//	  rpc Say(Words) returns (Words);                   // the same
//	  rpc Repeat(Words) returns (stream Words);         // the same, as often as it says
//	  rpc Collect(stream Words) returns (Words);        // the last one, and their number
//	  rpc Talk(stream Words) returns (stream Words);    // each of them
//	}
//	message Words { string text = 1; int64 number = 2; int32 times = 3; int32 code = 4; }
func echoDescriptor() *descriptorpb.FileDescriptorProto {
	field := func(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{
			Name: new(name), JsonName: new(name), Number: new(number), Type: kind.Enum(),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
	}
	method := func(name string, in, out bool) *descriptorpb.MethodDescriptorProto {
		m := &descriptorpb.MethodDescriptorProto{Name: new(name), InputType: new(".loadctl.Words"), OutputType: new(".loadctl.Words")}
		if in {
			m.ClientStreaming = new(true)
		}
		if out {
			m.ServerStreaming = new(true)
		}
		return m
	}
	return &descriptorpb.FileDescriptorProto{
		Name: new(echoFile), Package: new("loadctl"), Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("Words"), Field: []*descriptorpb.FieldDescriptorProto{
			field("text", wordsText, descriptorpb.FieldDescriptorProto_TYPE_STRING),
			field("number", wordsNumber, descriptorpb.FieldDescriptorProto_TYPE_INT64),
			field("times", wordsTimes, descriptorpb.FieldDescriptorProto_TYPE_INT32),
			field("code", wordsCode, descriptorpb.FieldDescriptorProto_TYPE_INT32),
		}}},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: new("Echo"), Method: []*descriptorpb.MethodDescriptorProto{
			method("Say", false, false), method("Repeat", false, true), method("Collect", true, false), method("Talk", true, true),
		}}},
	}
}

// reflectionPath is the path of the service that lists what there is.
func reflectionPath(version string) string {
	return "/grpc.reflection." + version + ".ServerReflection/ServerReflectionInfo"
}

// reflect answers questions about the service (grpc.reflection.v1): for its file, by name or by a name in it, and for
// the names of services.
func (c *call) reflect() (int, error) {
	for {
		question, err := c.read()
		if errors.Is(err, io.EOF) {
			return callOK, nil
		}
		if err == nil {
			err = c.write(reflected(question))
		}
		if err != nil {
			return 0, err
		}
	}
}

// reflected returns the answer to a question.
func reflected(question []byte) []byte {
	const (
		file, symbol, services = 3, 4, 7 // in questions
		files, list, failed    = 4, 6, 7 // in answers
	)
	bytes := func(b []byte, number protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), value)
	}
	for len(question) > 0 {
		number, kind, n := protowire.ConsumeTag(question)
		if n < 0 || kind != protowire.BytesType {
			break
		}
		value, size := protowire.ConsumeBytes(question[n:])
		if size < 0 {
			break
		}
		question = question[n+size:]
		name := string(value)
		switch {
		case number == services:
			return bytes(nil, list, bytes(nil, 1, bytes(nil, 1, []byte(echoService))))
		case number == file && name == echoFile, number == symbol && (name == echoService || name == "loadctl.Words"):
			encoded, _ := proto.Marshal(echoDescriptor()) // it is complete
			return bytes(nil, files, bytes(nil, 1, encoded))
		}
	}
	const notFound = 5
	return bytes(nil, failed, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), notFound))
}
