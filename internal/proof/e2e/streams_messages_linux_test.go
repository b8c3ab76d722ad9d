package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/interop/grpc_testing"

	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/proof/rpctest"
)

// messagesPerAnswer is how many messages a pacedMessages sends for each request.
const messagesPerAnswer = 20

// A pacedMessages is a server of another implementation than ours, whose answers are messages at a pace. It notes when it began
// to write each, as loadctl target does.
type pacedMessages struct {
	gap, jitter time.Duration

	mu  sync.Mutex // guards log
	log []streamedAnswer
}

// answer writes the messages of an answer. Each is due at a time that a late one does not move.
func (p *pacedMessages) answer(write func() error) error {
	began := time.Now()
	a, due := streamedAnswer{Arrival: began.UnixNano(), Whole: true}, time.Duration(0)
	for range messagesPerAnswer {
		due += p.gap - p.jitter + time.Duration(rand.Int64N(2*int64(p.jitter)))
		time.Sleep(time.Until(began.Add(due)))
		a.Events = append(a.Events, a.Arrival+int64(time.Since(began)))
		if err := write(); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, a)
	return nil
}

// grpc serves them as a stream of the server, and returns what workers need to ask for it.
func (p *pacedMessages) grpc(t *testing.T) []string {
	server := rpctest.Start(t, grpc.StreamInterceptor(func(service any, s grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if !strings.HasPrefix(info.FullMethod, rpctest.Path) {
			return handle(service, s) // reflection
		}
		return p.answer(func() error { return s.SendMsg(&grpc_testing.StreamingOutputCallResponse{}) })
	}))
	return []string{"--url", server.URL("StreamingOutputCall"), "-d", "{}"}
}

// websocket serves them as the reply to a message.
func (p *pacedMessages) websocket(t *testing.T) []string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for err == nil {
			var kind websocket.MessageType
			var message []byte
			if kind, message, err = c.Read(r.Context()); err == nil {
				err = p.answer(func() error { return c.Write(r.Context(), kind, message) })
			}
		}
	}))
	t.Cleanup(server.Close)
	return []string{"--url", "ws" + strings.TrimPrefix(server.URL, "http"), "-d", "hello", "--reply", fmt.Sprintf("messages %d", messagesPerAnswer)}
}

// TestStreamsOfMessages asserts that two workers report the messages of answers as their server, which is not ours, wrote them.
func TestStreamsOfMessages(t *testing.T) {
	besides(t)
	answers := scale(int64(40), int64(3000))
	for name, serve := range map[string]func(p *pacedMessages, t *testing.T) []string{"gRPC": (*pacedMessages).grpc, "WebSocket": (*pacedMessages).websocket} {
		t.Run(name, func(t *testing.T) {
			besides(t)
			p := &pacedMessages{gap: scale(20*time.Millisecond, 50*time.Millisecond), jitter: 5 * time.Millisecond}
			b := &bed{t: t, redis: redistest.Start(t)}
			b.pairOf("x", append(serve(p, t), "--stream", "messages", "--qps", scale("20", "500"), "-n", fmt.Sprint(answers), "--goal", "event_gap:max<1h")...)()
			s := streamed{t: t, report: b.report("x"), log: p.log}
			s.counts(answers, messagesPerAnswer)
			s.agrees()
			if g := s.report.Goodput; g.Judged != answers || g.Good != answers || s.report.MessagesIn != messagesPerAnswer*answers {
				t.Errorf("goodput %+v, %d messages", g, s.report.MessagesIn)
			}
		})
	}
}
