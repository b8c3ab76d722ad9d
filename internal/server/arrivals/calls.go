package arrivals

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Calls is what a server speaks: the service loadctl.Echo over gRPC, with reflection. Each call is a request, and of
// methods that take a stream each message. The server is written for net/http, because the library of gRPC would double
// the program.
const Calls = "grpc"

// Statuses of gRPC.
const (
	callOK            = 0
	callInvalid       = 3
	callUnimplemented = 12
)

// longestWords is the longest message that is taken, in bytes.
const longestWords = 4 << 20

// errWords says that a message is too long, or compressed.
var errWords = errors.New("a message that is not taken")

// serveCalls serves connections with net/http, over HTTP/2, until the server closes.
func (s *Server) serveCalls() {
	web := http.Server{
		Handler:     http.HandlerFunc(s.serveCall),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, ofConn{}, c) },
		ErrorLog:    log.New(io.Discard, "", 0), // of peers that are gone or speak another protocol
		Protocols:   new(http.Protocols),
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: 1000},
	}
	web.Protocols.SetUnencryptedHTTP2(true)   // of TLS, too: next has made it
	_ = web.Serve(webListener{s.listener, s}) // net.ErrClosed
}

// A call is one that is being answered.
type call struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
}

// serveCall answers a call.
func (s *Server) serveCall(w http.ResponseWriter, r *http.Request) {
	if !s.join() {
		panic(http.ErrAbortHandler)
	}
	defer s.serving.Done()
	c := &call{server: s, w: w, r: r}
	w.Header().Set("Content-Type", "application/grpc")
	var code int
	var err error
	switch r.URL.Path {
	case echoPath + "Say":
		code, err = c.say(1)
	case echoPath + "Repeat":
		code, err = c.say(0)
	case echoPath + "Collect":
		code, err = c.collect()
	case echoPath + "Talk":
		code, err = c.talk()
	case reflectionPath("v1"), reflectionPath("v1alpha"):
		code, err = c.reflect()
	default:
		code = callUnimplemented
	}
	if errors.Is(err, errWords) {
		code, err = callInvalid, nil
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(code))
}

// say answers one message with the same, so many times; 0 = as often as it asks for.
func (c *call) say(times int) (code int, err error) {
	message, err := c.read()
	if errors.Is(err, io.EOF) {
		return callInvalid, nil
	}
	if err != nil {
		return 0, err
	}
	if _, err := c.read(); err == nil { // the end of the request
		return callInvalid, nil
	}
	if err := c.holdBack(c.arrived()); err != nil {
		return 0, err
	}
	w := readWords(message)
	if times == 0 {
		times = w.times
	}
	if w.code != callOK {
		return w.code, nil
	}
	for range times {
		if err := c.write(message); err != nil {
			return 0, err
		}
	}
	return callOK, nil
}

// collect answers any number of messages with the last one, and their number.
func (c *call) collect() (int, error) {
	var last []byte
	for n := uint64(0); ; n++ {
		message, err := c.read()
		switch {
		case errors.Is(err, io.EOF):
			if err := c.holdBack(int64(time.Since(c.server.began))); err != nil {
				return 0, err
			}
			return callOK, c.write(protowire.AppendVarint(protowire.AppendTag(last, wordsNumber, protowire.VarintType), n))
		case err != nil:
			return 0, err
		}
		c.arrived()
		last = message
	}
}

// talk answers each message with the same.
func (c *call) talk() (int, error) {
	for {
		message, err := c.read()
		if errors.Is(err, io.EOF) {
			return callOK, nil
		}
		if err == nil {
			err = c.holdBack(c.arrived())
		}
		if err == nil {
			err = c.write(message)
		}
		if err != nil {
			return 0, err
		}
	}
}

// arrived records a request, and returns when it had been received whole, in ns since the server began.
func (c *call) arrived() int64 {
	s, at := c.server, int64(time.Since(c.server.began))
	s.arrived(c.r.Context().Value(ofConn{}).(*webConn).lane, at, []byte(c.r.URL.Path))
	return at
}

// holdBack waits as long as each answer does, to a request that arrived then.
func (c *call) holdBack(at int64) error {
	if !c.server.holdBack(at, at) {
		return net.ErrClosed
	}
	return nil
}

// read reads a message; io.EOF at the end of the request.
func (c *call) read() ([]byte, error) {
	var prefix [5]byte
	if _, err := io.ReadFull(c.r.Body, prefix[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(prefix[1:])
	if prefix[0] != 0 || n > longestWords {
		return nil, errWords
	}
	message := make([]byte, n)
	_, err := io.ReadFull(c.r.Body, message)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return message, err
}

// write sends a message now.
func (c *call) write(message []byte) error {
	framed := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	if _, err := c.w.Write(append(framed, message...)); err != nil {
		return err
	}
	return http.NewResponseController(c.w).Flush()
}

// words is what the server looks at in a message.
type words struct{ times, code int }

// mostTimes bounds the messages of an answer.
const mostTimes = 10_000

// readWords reads a message. What is none asks for nothing.
func readWords(message []byte) (w words) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			break
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			break
		}
		if v, _ := protowire.ConsumeVarint(message); kind == protowire.VarintType {
			switch number {
			case wordsTimes:
				w.times = int(min(v, mostTimes))
			case wordsCode:
				w.code = int(min(v, 16))
			}
		}
		message = message[n:]
	}
	return w
}
