// Package rpctest serves gRPC with its own library, for tests of a client that does not use it: the service
// grpc.testing.TestService, with reflection. Each call is counted once, and so is each message on a stream.
package rpctest

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Path is that of the service, before a method's name.
const Path = "/grpc.testing.TestService/"

// A Server serves until the test ends.
type Server struct {
	Addr string // host:port

	server *grpc.Server

	calls, messages, finished, connections atomic.Int64
}

// Stop ends the server, and all its connections.
func (s *Server) Stop() { s.server.Stop() }

// Calls returns how many calls have come, but those of reflection.
func (s *Server) Calls() int64 { return s.calls.Load() }

// Messages returns how many messages have come on streams.
func (s *Server) Messages() int64 { return s.messages.Load() }

// Finished returns how many streams their clients have ended in order.
func (s *Server) Finished() int64 { return s.finished.Load() }

// Connections returns how many connections have been accepted.
func (s *Server) Connections() int64 { return s.connections.Load() }

// accepting counts the connections of a listener.
type accepting struct {
	net.Listener
	of *Server
}

func (a accepting) Accept() (net.Conn, error) {
	c, err := a.Listener.Accept()
	if err == nil {
		a.of.connections.Add(1)
	}
	return c, err
}

// counted counts the messages of a stream.
type counted struct {
	grpc.ServerStream
	of *Server
}

func (c counted) RecvMsg(m any) error {
	err := c.ServerStream.RecvMsg(m)
	switch {
	case err == nil:
		c.of.messages.Add(1)
	case errors.Is(err, io.EOF):
		c.of.finished.Add(1)
	}
	return err
}

// URL returns the URL of a method, without TLS.
func (s *Server) URL(method string) string { return "grpc://" + s.Addr + Path + method }

// Start starts a server with reflection.
func Start(t testing.TB, options ...grpc.ServerOption) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return Serve(t, l, true, options...)
}

// Serve serves on a listener.
func Serve(t testing.TB, l net.Listener, reflects bool, options ...grpc.ServerOption) *Server {
	s := &Server{Addr: l.Addr().String()}
	options = append(options, grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		s.calls.Add(1)
		return next(ctx, request)
	}), grpc.ChainStreamInterceptor(func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if strings.HasPrefix(info.FullMethod, Path) {
			s.calls.Add(1)
			stream = counted{stream, s}
		}
		return next(server, stream)
	}))
	server := grpc.NewServer(options...)
	s.server = server
	grpc_testing.RegisterTestServiceServer(server, service{})
	if reflects {
		reflection.Register(server)
	}
	go func() { _ = server.Serve(accepting{l, s}) }() // until Stop
	t.Cleanup(server.Stop)
	return s
}

// Descriptors describe the service, as an encoded google.protobuf.FileDescriptorSet.
func Descriptors(t testing.TB) []byte {
	t.Helper()
	b, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{
		protodesc.ToFileDescriptorProto(grpc_testing.File_grpc_testing_empty_proto),
		protodesc.ToFileDescriptorProto(grpc_testing.File_grpc_testing_messages_proto),
		protodesc.ToFileDescriptorProto(grpc_testing.File_grpc_testing_test_proto),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// service answers with payloads of the size, and with the status, that the request names. Metadata that begins with
// x-echo comes back as trailers, and x-wait is how long a unary call takes.
type service struct {
	grpc_testing.UnimplementedTestServiceServer
}

func (service) EmptyCall(context.Context, *grpc_testing.Empty) (*grpc_testing.Empty, error) {
	return &grpc_testing.Empty{}, nil
}

func (service) UnaryCall(ctx context.Context, r *grpc_testing.SimpleRequest) (*grpc_testing.SimpleResponse, error) {
	given, _ := metadata.FromIncomingContext(ctx)
	for name, values := range given {
		switch {
		case strings.HasPrefix(name, "x-echo"), name == "authorization", name == "user-agent", name == ":authority":
			_ = grpc.SetTrailer(ctx, metadata.Pairs("x-got-"+strings.TrimPrefix(name, ":"), strings.Join(values, ",")))
		case name == "x-wait":
			wait, _ := time.ParseDuration(values[0])
			time.Sleep(wait) // behind the deadline too: a server that then answers may be faster than its client's timeout
		}
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = grpc.SetTrailer(ctx, metadata.Pairs("x-left", time.Until(deadline).Round(time.Second).String()))
	}
	if s := r.GetResponseStatus(); s.GetCode() != 0 {
		return nil, status.Error(codes.Code(s.GetCode()), s.GetMessage())
	}
	return &grpc_testing.SimpleResponse{Payload: payload(r.GetResponseSize()), Username: string(r.GetPayload().GetBody())}, nil
}

func (service) StreamingOutputCall(r *grpc_testing.StreamingOutputCallRequest, s grpc_testing.TestService_StreamingOutputCallServer) error {
	for _, p := range r.GetResponseParameters() {
		if err := s.Send(&grpc_testing.StreamingOutputCallResponse{Payload: payload(p.GetSize())}); err != nil {
			return err
		}
	}
	return nil
}

func (service) StreamingInputCall(s grpc_testing.TestService_StreamingInputCallServer) error {
	for n := 0; ; {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return s.SendAndClose(&grpc_testing.StreamingInputCallResponse{AggregatedPayloadSize: int32(n)})
		}
		if err != nil {
			return err
		}
		n += len(r.GetPayload().GetBody())
	}
}

func (service) FullDuplexCall(s grpc_testing.TestService_FullDuplexCallServer) error {
	for {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, p := range r.GetResponseParameters() {
			if err := s.Send(&grpc_testing.StreamingOutputCallResponse{Payload: payload(p.GetSize())}); err != nil {
				return err
			}
		}
		if end := r.GetResponseStatus(); end != nil {
			return status.Error(codes.Code(end.GetCode()), end.GetMessage()) // nil for OK
		}
	}
}

func payload(size int32) *grpc_testing.Payload {
	return &grpc_testing.Payload{Body: make([]byte, size)}
}
