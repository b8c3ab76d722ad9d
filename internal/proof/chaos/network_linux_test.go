package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// hub is the address at which a network reaches the test's network; both can connect to servers there.
const hub = "10.99.0.1"

// A network is the network of workers that can be cut off. It is a namespace without a name, joined to the test's
// network by a pair of virtual devices. Packets are lost on their way in, so the sender does not notice. It disappears
// with its last process.
type network struct {
	t  *testing.T
	ns *os.File
}

// newNetwork makes a network; there is one at a time.
func newNetwork(t *testing.T) *network {
	t.Helper()
	if why, no := os.LookupEnv(networked); no {
		t.Fatalf("this scenario cuts a network, and cannot: %s; as root: make chaos", why)
	}
	if _, err := exec.LookPath("nft"); err != nil {
		t.Fatal("nft is not installed, and this scenario needs it: apt-get install -y nftables")
	}
	n := &network{t: t}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread is unfit for anything else
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			n.ns, err = os.Open("/proc/thread-self/ns/net")
		}
		made <- err
	}()
	if err := <-made; err != nil {
		t.Fatalf("make a network: %v", err)
	}
	t.Cleanup(func() { n.ns.Close() })
	n.outside("ip", "link", "add", "hub", "type", "veth", "peer", "name", "worker", "netns", fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.ns.Fd()))
	t.Cleanup(func() { n.outside("ip", "link", "del", "hub") })
	n.outside("ip", "addr", "add", hub+"/24", "dev", "hub")
	n.outside("ip", "link", "set", "hub", "up")
	n.inside("ip", "addr", "add", "10.99.0.2/24", "dev", "worker")
	n.inside("ip", "link", "set", "worker", "up")
	n.inside("ip", "link", "set", "lo", "up")
	return n
}

// enter moves the thread into the network permanently. Nil is the test's own network.
func (n *network) enter() error {
	if n == nil {
		return nil
	}
	return unix.Setns(int(n.ns.Fd()), unix.CLONE_NEWNET)
}

// inside runs a tool in the network, outside in the test's.
func (n *network) inside(tool string, args ...string)  { n.t.Helper(); n.tool(n, tool, args) }
func (n *network) outside(tool string, args ...string) { n.t.Helper(); n.tool(nil, tool, args) }

func (n *network) tool(where *network, tool string, args []string) {
	n.t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := where.enter()
		if err == nil {
			var out []byte
			if out, err = exec.Command(tool, args...).CombinedOutput(); err != nil {
				err = fmt.Errorf("%w %s", err, out)
			}
		}
		done <- err
	}()
	if err := <-done; err != nil {
		n.t.Errorf("%s %s: %v", tool, strings.Join(args, " "), err)
	}
}

// A loss is what happens to packets on their way in, in nft's syntax.
const (
	all     = "drop"
	percent = "numgen random mod 100 < 5 drop" // drops 5 in 100
)

// lose drops packets to a port on the hub: those that come from the network, and those that go to it. "" drops none.
func (n *network) lose(port string, from, to string) {
	n.t.Helper()
	n.rule(n.outside, "iifname hub tcp dport "+port, from)
	n.rule(n.inside, "tcp sport "+port, to)
}

// rule replaces what is lost on one side.
func (n *network) rule(side func(tool string, args ...string), which, loss string) {
	n.t.Helper()
	text := "table inet chaos\ndelete table inet chaos\n"
	if loss != "" {
		text += "table inet chaos { chain in { type filter hook input priority 0; " + which + " " + loss + "; }; }\n"
	}
	side("nft", text)
}
