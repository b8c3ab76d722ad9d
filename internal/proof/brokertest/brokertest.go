// Package brokertest runs a broker of MQTT for tests, mosquitto, and a subscriber that is not ours:
//
//	broker := brokertest.Start(t)
//	… // publish at broker.Addr() below load/
//	n := broker.Count()
package brokertest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// mark begins the topics of messages that are not counted.
const mark = "load/mark/"

// A Broker is a running mosquitto with a subscriber. It ends with the test.
type Broker struct {
	t          testing.TB
	port       string
	subscriber *child.Process
	marks      atomic.Int64
}

// Start starts a broker at a free port, and a subscriber of load/#.
func Start(t testing.TB) *Broker {
	t.Helper()
	for try := 0; ; try++ {
		port := redistest.FreePort(t)
		b := &Broker{t: t, port: fmt.Sprint(port)}
		config := filepath.Join(t.TempDir(), "mosquitto.conf")
		text := fmt.Sprintf("listener %d 127.0.0.1\nallow_anonymous true\nmax_inflight_messages 0\nmax_queued_messages 0\n", port)
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		broker := start(t, "mosquitto", "-c", config)
		up := func() bool {
			c, err := net.Dial("tcp", b.Addr())
			if err == nil {
				c.Close()
			}
			return err == nil
		}
		await.True(t, "the broker", func() bool { return ended(broker) || up() })
		if !ended(broker) {
			b.subscribe()
			return b
		}
		if try == 10 { // another process may have taken the port since we looked
			t.Fatalf("start mosquitto: %s", broker.Stderr.String())
		}
	}
}

func ended(p *child.Process) bool {
	select {
	case <-p.Exited:
		return true
	default:
		return false
	}
}

// subscribe starts the subscriber, and returns when it is subscribed: then it gets the message that the broker keeps for it.
func (b *Broker) subscribe() {
	b.t.Helper()
	<-start(b.t, "mosquitto_pub", "-p", b.port, "-q", "1", "-r", "-t", mark+"0", "-m", "ready").Exited
	b.subscriber = start(b.t, "mosquitto_sub", "-p", b.port, "-q", "1", "-t", "load/#", "-F", "%t %p")
	await.True(b.t, "the subscription", func() bool { return strings.Contains(b.subscriber.Stdout.String(), mark) })
}

// start starts a program of mosquitto.
func start(t testing.TB, name string, args ...string) *child.Process {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path = "/usr/sbin/" + name // where Debian has the broker
	}
	p, err := child.Start(exec.Command(path, args...), nil)
	if errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%s is not installed, and this test needs it: apt-get install -y mosquitto mosquitto-clients", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// Addr is host:port of the broker.
func (b *Broker) Addr() string { return "127.0.0.1:" + b.port }

// Messages returns what the subscriber has received so far, in its order: topic, a space, and the message. Messages are lines.
func (b *Broker) Messages() (all []string) {
	for line := range strings.Lines(b.subscriber.Stdout.String()) {
		if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, mark) {
			all = append(all, line)
		}
	}
	return all
}

// Count returns how many messages the broker has acknowledged. It publishes a message of its own, and waits until the
// subscriber has that: a broker passes messages on in the order in which it acknowledges them.
func (b *Broker) Count() int64 {
	b.t.Helper()
	own := fmt.Sprint(mark, b.marks.Add(1))
	<-start(b.t, "mosquitto_pub", "-p", b.port, "-q", "1", "-t", own, "-m", "mark").Exited
	await.True(b.t, "the end of what was published", func() bool { return strings.Contains(b.subscriber.Stdout.String(), own+" ") })
	return int64(len(b.Messages()))
}
