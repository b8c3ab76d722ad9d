package targets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	rpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/loadctl/loadctl/targets/status"
)

// testService is the path of gRPC's own service for tests.
const testService = "/grpc.testing.TestService/"

// testDescriptors describe it.
func testDescriptors(t *testing.T) []byte {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	set.File = append(set.File, protodesc.ToFileDescriptorProto(grpc_testing.File_grpc_testing_empty_proto),
		protodesc.ToFileDescriptorProto(grpc_testing.File_grpc_testing_messages_proto),
		protodesc.ToFileDescriptorProto(grpc_testing.File_grpc_testing_test_proto))
	b, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// startRPC starts the service for tests, by the library of gRPC, and counts calls.
func startRPC(t *testing.T, options ...rpc.ServerOption) (address string, calls *atomic.Int64) {
	t.Helper()
	calls = new(atomic.Int64)
	options = append(options, rpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *rpc.UnaryServerInfo, next rpc.UnaryHandler) (any, error) {
		calls.Add(1)
		return next(ctx, req)
	}), rpc.ChainStreamInterceptor(func(srv any, s rpc.ServerStream, _ *rpc.StreamServerInfo, next rpc.StreamHandler) error {
		calls.Add(1)
		return next(srv, s)
	}))
	s := rpc.NewServer(options...)
	grpc_testing.RegisterTestServiceServer(s, testServer{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	t.Cleanup(s.Stop)
	return l.Addr().String(), calls
}

// testServer is what gRPC's own tests have: answers of the size, and with the status, that the request names.
type testServer struct {
	grpc_testing.UnimplementedTestServiceServer
}

func (testServer) EmptyCall(context.Context, *grpc_testing.Empty) (*grpc_testing.Empty, error) {
	return &grpc_testing.Empty{}, nil
}

func (testServer) UnaryCall(ctx context.Context, r *grpc_testing.SimpleRequest) (*grpc_testing.SimpleResponse, error) {
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		for _, name := range []string{"x-echo", "x-echo-bin", "authorization"} {
			for _, v := range md.Get(name) {
				_ = rpc.SetTrailer(ctx, metadata.Pairs("x-got-"+strings.TrimPrefix(name, "x-"), v))
			}
		}
	}
	if s := r.GetResponseStatus(); s.GetCode() != 0 {
		return nil, rpcstatus.Error(codes.Code(s.GetCode()), s.GetMessage())
	}
	return &grpc_testing.SimpleResponse{Payload: payload(r.GetResponseSize()), Username: r.GetPayload().GetType().String()}, nil
}

func (testServer) StreamingOutputCall(r *grpc_testing.StreamingOutputCallRequest, s grpc_testing.TestService_StreamingOutputCallServer) error {
	for _, p := range r.GetResponseParameters() {
		if err := s.Send(&grpc_testing.StreamingOutputCallResponse{Payload: payload(p.GetSize())}); err != nil {
			return err
		}
	}
	return nil
}

func (testServer) StreamingInputCall(s grpc_testing.TestService_StreamingInputCallServer) error {
	n := 0
	for {
		r, err := s.Recv()
		if err != nil {
			return s.SendAndClose(&grpc_testing.StreamingInputCallResponse{AggregatedPayloadSize: int32(n)})
		}
		n += len(r.GetPayload().GetBody())
	}
}

func (testServer) FullDuplexCall(s grpc_testing.TestService_FullDuplexCallServer) error {
	for {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		for _, p := range r.GetResponseParameters() {
			if err := s.Send(&grpc_testing.StreamingOutputCallResponse{Payload: payload(p.GetSize())}); err != nil {
				return err
			}
		}
	}
}

func payload(size int32) *grpc_testing.Payload {
	return &grpc_testing.Payload{Body: make([]byte, size)}
}

func TestGRPC(t *testing.T) {
	address, calls := startRPC(t)
	spec := Spec{Descriptors: testDescriptors(t), Timeout: 10 * time.Second}
	for i, c := range []struct {
		method, body string
		checks       []string
		expect       string
		want         Outcome
	}{
		{"EmptyCall", "", nil, "", Outcome{Status: 1}},
		{"UnaryCall", `{"responseSize": 5, "payload": {"body": "aGVsbG8="}}`, []string{`json payload.body = AAAAAAA=`, "size > 5B"}, "", Outcome{Status: 1}},
		{"UnaryCall", `{"responseSize": 100000}`, []string{"size > 99kB"}, "", Outcome{Status: 1}},
		{"UnaryCall", `{"responseStatus": {"code": 5, "message": "x"}}`, nil, "", Outcome{Status: 6, Class: ClassStatus}},
		{"UnaryCall", `{"responseStatus": {"code": 5, "message": "x"}}`, nil, "OK,NOT_FOUND", Outcome{Status: 6}},
		{"UnaryCall", `{"responseStatus": {"code": 14}}`, []string{"status UNAVAILABLE,OK"}, "", Outcome{Status: 15}},
		{"StreamingOutputCall", `{"responseParameters": [{"size": 3}, {"size": 70000}]}`, []string{"size > 70kB"}, "", Outcome{Status: 1}},
		{"StreamingInputCall", `{"payload": {"body": "aGVsbG8="}}`, []string{"json aggregatedPayloadSize = 5"}, "", Outcome{Status: 1}},
		{"FullDuplexCall", `{"responseParameters": [{"size": 3}]}`, []string{`json payload.body = AAAA`}, "", Outcome{Status: 1}},
		{"UnimplementedCall", "", nil, "", Outcome{Status: 13, Class: ClassStatus}},
	} {
		t.Run(fmt.Sprint(i, " ", c.method), func(t *testing.T) {
			s := spec
			s.URL, s.Body, s.Checks, s.Expect = "grpc://"+address+testService+c.method, []byte(c.body), c.checks, c.expect
			target, err := New(s, Local{})
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close()
			for range 3 {
				before := calls.Load()
				out := target.Do(t.Context(), Call{})
				if out.Status != c.want.Status || out.Class != c.want.Class || out.BytesIn == 0 || out.BytesOut == 0 {
					t.Errorf("%+v (%s), want %+v", out, status.Name(out.Status), c.want)
				}
				if n := calls.Load() - before; n != 1 {
					t.Errorf("%d calls arrived", n)
				}
			}
		})
	}
	_, _, _ = codes.OK, keepalive.ServerParameters{}, rpcstatus.Code
}
