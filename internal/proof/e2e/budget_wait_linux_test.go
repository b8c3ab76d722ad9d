package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/budgets"
	"github.com/loadctl/loadctl/internal/fleet/ledger/ledgertest"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// shown returns what loadctl budget show says of the counting server.
func (b *bed) shown() (d budgets.Document) {
	b.t.Helper()
	if err := json.Unmarshal([]byte(b.loadctl("budget", "show", b.web.Addr(), "-o", "json")), &d); err != nil {
		b.t.Fatal(err)
	}
	return d
}

// waiting returns the names of the runs that wait for room, the first in line first.
func (b *bed) waiting() string {
	var names []string
	for _, p := range b.shown().Waiting {
		names = append(names, p.Run)
	}
	return strings.Join(names, " ")
}

// TestBudgetFitsSoManyRuns: six processes of three fleets create equal runs at once at an endpoint whose budget fits four.
// Exactly four are created. The others get 104, and one line that says how much is left, who holds the rest and what to
// write. With --wait-budget two more wait, and begin in the order in which they came, each when a run stops. A waiter that
// is killed or interrupted leaves no place.
func TestBudgetFitsSoManyRuns(t *testing.T) {
	besides(t)
	b := newBed(t)
	ledgertest.Calm(t, b.redis.Client())
	b.loadctl("budget", "set", "127.0.0.1", "450")
	described := []string{"--url", b.web.URL(), "--qps", "100", "--min-workers", "1"}
	names := []string{"red-one", "red-two", "green-one", "green-two", "blue-one", "blue-two"}
	begun := map[string]*process{}
	for i, name := range names {
		if i%2 == 0 { // a worker creates it
			begun[name] = b.worker(name, described...)
		} else {
			begun[name] = b.operator(append([]string{"create", name}, described...)...)
		}
	}
	held, refused := b.holders(names, begun)
	if len(held) != 4 || len(refused) != 2 {
		t.Fatalf("%q are created, %q are refused", held, refused)
	}
	for _, name := range refused {
		begun[name].wait(104)
		line := begun[name].Stderr.String()
		if i := strings.Index(line, "error: "); strings.Count(line[i:], "\n") != 1 || !strings.HasPrefix(line[i:], "error: create run "+name+": "+b.web.Addr()+" has no room for 100/s: 50/s of its budget is left, the rest hold ") ||
			!strings.Contains(line, " 100/s until ") || !strings.HasSuffix(line, ", 1 more; give a rate up to 50/s, or wait with --wait-budget 10m\n") {
			t.Errorf("%s: %q", name, line)
		}
	}
	if e := b.shown().Endpoint; e.Reserved != 400 || *e.Left != 50 {
		t.Errorf("%+v", e)
	}
	b.served(held, described)
}

// holders waits until each process has created its run or was refused, and returns the runs of both.
func (b *bed) holders(names []string, begun map[string]*process) (held, refused []string) {
	b.t.Helper()
	for _, name := range names {
		p := begun[name]
		await.True(b.t, "the run "+name+", or a refusal", func() bool {
			select {
			case <-p.Exited:
				return true
			default:
				return strings.Contains(p.Stderr.String(), "created run")
			}
		})
		if _, _, code := b.try("status", name); code == 0 {
			held = append(held, name)
		} else {
			refused = append(refused, name)
		}
	}
	return held, refused
}

// served checks that waiting runs begin in their order, each when one of those that hold the room stops.
func (b *bed) served(held, described []string) {
	t := b.t
	var line []*process
	for i, name := range []string{"first", "killed", "left", "last"} {
		p := b.worker(name, append(described, "--wait-budget", "1h")...)
		p.says("run " + name + " waits for up to 1h0m0s: " + b.web.Addr() + " has no room for 100/s: 50/s of its budget is left")
		await.True(t, name+" in line", func() bool { return len(b.shown().Waiting) == i+1 })
		line = append(line, p)
	}
	if got := b.waiting(); got != "first killed left last" {
		t.Errorf("the line is %s", got)
	}
	if _, stderr, code := b.try("create", "new", "--url", b.web.URL(), "--qps", "1"); code != 104 || !strings.Contains(stderr, "4 runs wait for it; wait with --wait-budget") {
		t.Errorf("a newcomer: exit code %d, %s", code, stderr)
	}
	line[1].Kill()
	line[2].signal(os.Interrupt)
	line[2].wait(105)
	await.True(t, "the end of their places", func() bool { return b.waiting() == "first last" })
	for i, p := range []*process{line[0], line[3]} {
		b.loadctl("stop", held[i])
		p.says("created run")
		if i == 0 {
			if got := b.waiting(); got != "last" {
				t.Errorf("behind the first there are %q", got)
			}
		}
	}
	d := b.shown()
	if d.Endpoint.Reserved != 400 || len(d.Rows) != 4 || len(d.Waiting) != 0 {
		t.Errorf("%+v", d)
	}
	for _, name := range append(held[2:], "first", "last") {
		b.loadctl("stop", name)
	}
	line[0].wait(0)
	line[3].wait(0)
	if e := b.shown().Endpoint; e.Reserved != 0 {
		t.Errorf("stopped runs hold %v/s", e.Reserved)
	}
}
