package arrivals

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// A threeServer serves HTTP/3.
type threeServer struct {
	socket net.PacketConn
	web    *http3.Server
}

// listenThree opens a UDP socket at the port of a listener. If the system chose that port, it may be taken over UDP; then
// another listener takes the place of the first one.
func (o *Options) listenThree(listener net.Listener) (net.Listener, *threeServer, error) {
	_, port, _ := net.SplitHostPort(o.Addr)
	for range 20 {
		socket, err := net.ListenPacket("udp", listener.Addr().String())
		if err == nil {
			return listener, &threeServer{socket: socket}, nil
		}
		if _ = listener.Close(); port != "0" {
			return nil, nil, err
		}
		if listener, err = net.Listen("tcp", o.Addr); err != nil {
			return nil, nil, err
		}
	}
	_ = listener.Close()
	return nil, nil, errors.New("find a port that is free over TCP and UDP")
}

// serveThree serves HTTP/3 until the server closes. There is no 0-RTT: who listens could send its requests again.
func (s *Server) serveThree(t *threeServer) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	t.web = &http3.Server{
		TLSConfig:  http3.ConfigureTLSConfig(s.opts.TLS),
		QUICConfig: &quic.Config{Allow0RTT: false, MaxIdleTimeout: 5 * time.Minute, MaxIncomingStreams: 1000},
		Handler:    http.HandlerFunc(s.serveThreeStream),
		ConnContext: func(ctx context.Context, _ *quic.Conn) context.Context {
			s.connections.Add(1)
			return ctx
		},
	}
	s.mu.Unlock()
	_ = t.web.Serve(t.socket) // until close
}

// serveThreeStream answers a request of HTTP/3. Requests of one connection come at the same time, so each borrows a lane.
func (s *Server) serveThreeStream(w http.ResponseWriter, r *http.Request) {
	l := s.borrow()
	defer s.giveBack(l)
	serve := s.serveStream
	if s.opts.Site != nil {
		serve = s.serveWeb
	}
	serve(w, r.WithContext(context.WithValue(r.Context(), ofConn{}, &webConn{server: s, lane: l})))
}

// borrow returns a lane that nobody uses.
func (s *Server) borrow() *lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.freeLane()
}

func (s *Server) giveBack(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, l)
}

// close ends all connections. A nil server has none.
func (t *threeServer) close() error {
	if t == nil {
		return nil
	}
	var err error
	if t.web != nil {
		err = t.web.Close()
	}
	return errors.Join(err, t.socket.Close())
}
