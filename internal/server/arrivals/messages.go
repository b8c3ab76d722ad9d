package arrivals

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/loadctl/loadctl/targets/ws"
)

// longestMessage is the longest message of WebSocket that is echoed, in bytes.
const longestMessage = 16 << 20

// serveMessages makes the handshake of WebSocket on one connection, and echoes its messages until it ends.
func (s *Server) serveMessages(conn net.Conn, l *lane) {
	br := bufio.NewReaderSize(conn, lineLimit)
	key, err := readUpgrade(br)
	if err != nil {
		return
	}
	if key == "" {
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		return
	}
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", ws.Accept(key)); err != nil {
		return
	}
	e := echo{server: s, lane: l, conn: conn, reader: ws.Reader{Masked: true, Limit: longestMessage, Keep: longestMessage}}
	buf := make([]byte, 16<<10)
	for {
		n, err := br.Read(buf) // larger than the reader's buffer, which is so left out
		if !e.take(buf[:n]) || err != nil {
			return
		}
	}
}

// readUpgrade reads the head of a handshake, and returns its key; "" if it is none.
func readUpgrade(br *bufio.Reader) (key string, err error) {
	for {
		line, err := readLine(br)
		if err != nil {
			return "", err
		}
		if len(line) == 0 {
			return key, nil
		}
		if name, value, _ := bytes.Cut(line, []byte(":")); bytes.EqualFold(name, []byte("Sec-WebSocket-Key")) {
			key = string(bytes.TrimSpace(value))
		}
	}
}

// An echo is a connection whose messages are echoed.
type echo struct {
	server *Server
	lane   *lane
	conn   net.Conn
	reader ws.Reader
	frame  []byte // to be sent
}

// take takes what has come. It reports false if the connection ends.
func (e *echo) take(b []byte) bool {
	for len(b) > 0 {
		n, event, err := e.reader.Next(b)
		b = b[n:]
		switch {
		case err != nil:
			broken, _ := errors.AsType[ws.Error](err)
			e.write(ws.AppendClose(e.frame[:0], broken.CloseCode(), 0))
			return false
		case event == ws.GotClose:
			e.write(ws.AppendClose(e.frame[:0], e.reader.Code(), 0))
			return false
		case event == ws.GotPing && !e.write(ws.AppendFrame(e.frame[:0], ws.Pong, e.reader.Control(), 0)):
			return false
		case event == ws.GotMessage && !e.answer():
			return false
		}
	}
	return true
}

// answer counts a message and sends it back.
func (e *echo) answer() bool {
	at := int64(time.Since(e.server.began))
	e.server.arrived(e.lane, at, nil)
	if !e.server.holdBack(at, at) {
		return false
	}
	op := ws.Binary
	if e.reader.Text() {
		op = ws.Text
	}
	return e.write(ws.AppendFrame(e.frame[:0], op, e.reader.Content(), 0))
}

// write sends a frame, and keeps its memory for the next one.
func (e *echo) write(frame []byte) bool {
	_, err := e.conn.Write(frame)
	if e.frame = frame; cap(frame) > longestLine {
		e.frame = nil
	}
	return err == nil
}
