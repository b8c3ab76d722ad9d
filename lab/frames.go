//go:build linux

package main

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

// A framed is a connection with HTTP/2, as far as an endpoint needs to know it that looks at no header. Heads of requests
// must have one frame, which is true of all tools here. Requests have no body. Over gRPC each frame of data is a message.
type framed struct {
	grpc    bool            // requests are calls, or messages on streams that stay open
	greeted bool            // the preface has come
	rest    []byte          // the beginning of a frame
	replies []byte          // to what came last
	open    map[uint32]bool // streams of gRPC that stay open: their heads were sent
}

// frameHead is the length of the head of a frame, in bytes (RFC 9113, section 4.1).
const frameHead = 9

// answer returns what to reply to what came: all in one, until the next call. It calls arrived for each request.
func (c *framed) answer(b []byte, arrived func()) []byte {
	c.replies = c.replies[:0]
	if len(c.rest) > 0 {
		b = append(c.rest, b...)
	}
	if !c.greeted && len(b) >= len(http2.ClientPreface) {
		c.greeted, b = true, b[len(http2.ClientPreface):]
		c.replies = appendFrame(c.replies, http2.FrameSettings, 0, 0)
	}
	for c.greeted && len(b) >= frameHead {
		length := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
		if len(b) < frameHead+length {
			break
		}
		c.frame(http2.FrameType(b[3]), http2.Flags(b[4]), binary.BigEndian.Uint32(b[5:]), b[frameHead:frameHead+length], arrived)
		b = b[frameHead+length:]
	}
	c.rest = append(c.rest[:0:0], b...)
	return c.replies
}

// frame replies to a frame, if it asks for that.
func (c *framed) frame(kind http2.FrameType, flags http2.Flags, stream uint32, payload []byte, arrived func()) {
	switch {
	case c.grpc && kind == http2.FrameData:
		c.call(flags, stream, len(payload), arrived)
	case kind == http2.FrameHeaders && !c.grpc:
		arrived()
		// Status 200, and content-length 2 (RFC 7541, sections 6.1 and 6.2.2).
		c.replies = appendFrame(c.replies, http2.FrameHeaders, http2.FlagHeadersEndHeaders, stream, 0x88, 0x0f, 0x0d, 1, '2')
		c.replies = appendFrame(c.replies, http2.FrameData, http2.FlagDataEndStream, stream, 'o', 'k')
	case kind == http2.FrameSettings && !flags.Has(http2.FlagSettingsAck):
		c.replies = appendFrame(c.replies, http2.FrameSettings, http2.FlagSettingsAck, 0)
	case kind == http2.FramePing && !flags.Has(http2.FlagPingAck):
		c.replies = appendFrame(c.replies, http2.FramePing, http2.FlagPingAck, 0, payload...)
	}
}

// call replies to a frame of data: to a message with a HelloReply, and to the end of a stream with the status OK.
func (c *framed) call(flags http2.Flags, stream uint32, length int, arrived func()) {
	if length > 0 {
		c.message(stream, length, flags.Has(http2.FlagDataEndStream))
		arrived()
	}
	if flags.Has(http2.FlagDataEndStream) {
		delete(c.open, stream)
		status := append([]byte{0, 11}, "grpc-status\x010"...)
		c.replies = appendFrame(c.replies, http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, stream, status...)
	}
}

// message replies to a message. The first reply on a stream has a head before it.
func (c *framed) message(stream uint32, length int, last bool) {
	room := []byte{byte(length >> 24), byte(length >> 16), byte(length >> 8), byte(length)}
	c.replies = appendFrame(c.replies, http2.FrameWindowUpdate, 0, 0, room...)
	if !last {
		c.replies = appendFrame(c.replies, http2.FrameWindowUpdate, 0, stream, room...)
	}
	if !c.open[stream] {
		head := append([]byte{0x88, 0x0f, 0x10, 16}, "application/grpc"...) // content-type
		c.replies = appendFrame(c.replies, http2.FrameHeaders, http2.FlagHeadersEndHeaders, stream, head...)
	}
	if !last && c.open == nil {
		c.open = map[uint32]bool{}
	}
	if !last {
		c.open[stream] = true
	}
	c.replies = appendFrame(c.replies, http2.FrameData, 0, stream, 0, 0, 0, 0, 5, 0x0a, 3, 'a', 'n', 'n')
}

// appendFrame appends a frame.
func appendFrame(b []byte, kind http2.FrameType, flags http2.Flags, stream uint32, payload ...byte) []byte {
	n := len(payload)
	b = append(b, byte(n>>16), byte(n>>8), byte(n), byte(kind), byte(flags))
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}
