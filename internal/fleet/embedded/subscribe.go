package embedded

import (
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// mostUnread bounds the bytes of messages that wait for a client that does not read; further messages are lost. A real
// server would end its connection.
const mostUnread = 32 << 20

// subscribes executes SUBSCRIBE and UNSUBSCRIBE for a client that uses RESP3, and reports whether it did. Such a client
// may send other commands on the same connection, as on a real server. The library refuses these after its own
// SUBSCRIBE, in both protocols.
func (s *Server) subscribes(c *server.Peer, name string, channels []string) bool {
	name = strings.ToLower(name)
	if !c.Resp3 || len(channels) == 0 || name != "subscribe" && name != "unsubscribe" {
		return false
	}
	l := s.listener(c)
	if l == nil {
		l = s.listen(c)
	}
	for _, channel := range channels {
		change := l.Subscribe
		if name == "unsubscribe" {
			change = l.Unsubscribe
		}
		s.redis.Lock() // or it would change while the library counts the subscribers
		left := change(channel)
		s.redis.Unlock()
		c.Block(func(w *server.Writer) {
			w.WritePushLen(3)
			w.WriteBulk(name)
			w.WriteBulk(channel)
			w.WriteInt(left)
		})
	}
	return true
}

// listener listens for one client. It sends a message between two commands of the client, because the library writes
// replies in parts.
type listener struct {
	*miniredis.Subscriber
	peer *server.Peer
	busy sync.Mutex // held while writing to the client: by a command or a message

	mu     sync.Mutex
	unread []miniredis.PubsubMessage
	size   int
	more   chan struct{} // something was added to unread
	gone   chan struct{} // closed when the client is gone
}

// listener returns the listener of a client, or nil.
func (s *Server) listener(c *server.Peer) *listener {
	known, _ := s.listeners.Load(c)
	l, _ := known.(*listener)
	return l
}

// listen starts a listener for a client. It ends with the client's connection.
func (s *Server) listen(c *server.Peer) *listener {
	l := &listener{Subscriber: s.redis.NewSubscriber(), peer: c, more: make(chan struct{}, 1), gone: make(chan struct{})}
	l.busy.Lock() // the command that starts it does not hold the lock yet
	s.listeners.Store(c, l)
	go l.take()
	go l.notify()
	c.OnDisconnect(func() {
		s.listeners.Delete(c)
		s.redis.Lock()
		for _, channel := range l.Channels() {
			l.Unsubscribe(channel)
		}
		s.redis.Unlock()
		close(l.gone) // nothing is published to it any more
	})
	return l
}

// take collects published messages. It never blocks: the client's own command may be publishing.
func (l *listener) take() {
	for {
		select {
		case m := <-l.Messages():
			l.mu.Lock()
			if l.size+len(m.Message) <= mostUnread {
				l.unread, l.size = append(l.unread, m), l.size+len(m.Message)
			}
			l.mu.Unlock()
			select {
			case l.more <- struct{}{}:
			default:
			}
		case <-l.gone:
			return
		}
	}
}

// notify sends the messages to the client.
func (l *listener) notify() {
	for {
		select {
		case <-l.more:
		case <-l.gone:
			return
		}
		l.busy.Lock()
		l.mu.Lock()
		messages := l.unread
		l.unread, l.size = nil, 0
		l.mu.Unlock()
		for _, m := range messages {
			l.peer.Block(func(w *server.Writer) {
				w.WritePushLen(3)
				w.WriteBulk("message")
				w.WriteBulk(m.Channel)
				w.WriteBulk(m.Message)
			})
		}
		l.peer.Flush()
		l.busy.Unlock()
	}
}
