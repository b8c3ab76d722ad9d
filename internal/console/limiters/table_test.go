package limiters

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/pacer/limit"
	"github.com/loadctl/loadctl/targets"
)

// TestTableIsComplete: the limiters of the library and of the table are the same.
func TestTableIsComplete(t *testing.T) {
	var names []string
	for _, l := range Table() {
		if l.Library {
			names = append(names, l.Name)
		}
	}
	if want := limit.Names(); !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(want))) {
		t.Errorf("the table has %v, the library %v", names, want)
	}
	if seven, err := Named(); err != nil || len(seven) != len(Table()) {
		t.Errorf("without a name %d limiters, %v", len(seven), err)
	}
	if two, err := Named("gcra", "gcra"); err != nil || len(two) != 2 || two[0].Title() != "gcra" || two[1].Title() != "gcra --burst" {
		t.Errorf("gcra is %+v, %v", two, err)
	}
	if one, err := Named("gcra --burst"); err != nil || len(one) != 1 || one[0].Title() != "gcra --burst" {
		t.Errorf("gcra --burst is %+v, %v", one, err)
	}
	for _, name := range []string{"tokenbucket", "Token-Bucket"} {
		if _, err := Named(name); err == nil || !strings.Contains(err.Error(), ": there is none; did you mean token-bucket? Or take one of gcra, ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Named("gcra", "bucket"); err == nil || !strings.Contains(err.Error(), `"bucket": there is none; take one of gcra, token-bucket, `) {
		t.Errorf("bucket: %v", err)
	}
}

// cost is the cost of calls for a server so far.
type cost struct {
	commands       int64 // within scripts
	calls          int64 // of scripts
	sent, received int64 // bytes
}

func costs(t *testing.T, client rdb.Client) (c cost) {
	t.Helper()
	info, err := client.InfoMap(t.Context(), "stats", "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	scan := func(text, format string) (n int64) {
		if _, err := fmt.Sscanf(text, format, &n); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return n
	}
	for name, text := range info["Commandstats"] {
		switch n := scan(text, "calls=%d"); {
		case name == "cmdstat_evalsha":
			c.calls = n
		case name != "cmdstat_info" && !strings.HasPrefix(name, "cmdstat_config"):
			c.commands += n
		}
	}
	c.sent, c.received = scan(info["Stats"]["total_net_input_bytes"], "%d"), scan(info["Stats"]["total_net_output_bytes"], "%d")
	return c
}

// near reports whether a figure is within some percent of the table: bytes depend a little on the length of numbers and
// names.
func near(got, table float64, percent float64) bool { return math.Abs(got-table) <= percent/100*table }

// checkCall makes one call, and then so many that reading the statistics does not matter, and compares them with the
// table.
func checkCall(t *testing.T, client rdb.Client, l Limiter, call func() error) {
	t.Helper()
	const many = 50
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(client.ConfigResetStat(t.Context()).Err())
	must(call())
	one := costs(t, client)
	if one.calls != 1 || one.commands != int64(l.Commands) {
		t.Errorf("%s: %d commands in %d calls, the table says %d in each", l.Title(), one.commands, one.calls, l.Commands)
	}
	must(client.ConfigResetStat(t.Context()).Err())
	for range many {
		must(call())
	}
	all := costs(t, client)
	sent, received := float64(all.sent)/many, float64(all.received)/many
	if !near(sent, float64(l.Sent), 5) || !near(received, float64(l.Received), 10) {
		t.Errorf("%s: %.1f bytes sent and %.1f received, the table says %d and %d", l.Title(), sent, received, l.Sent, l.Received)
	}
}

// TestCalls: the cost of a call on a real Redis: for limiters with 900 of 1,000 permits in the window, for a renewal
// while the run goes on.
func TestCalls(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	for _, l := range Table() {
		if !l.Library {
			continue
		}
		limiter, err := limit.New(l.Name, limit.Redis(client), "checkout", limit.PerWindow(1000, time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if a, err := limiter.Take(t.Context(), 900); err != nil || a.Granted != 900 {
			t.Fatalf("%s: %+v, %v", l.Name, a, err)
		}
		checkCall(t, client, l, func() error {
			a, err := limiter.Take(t.Context(), 1)
			if err == nil && a.Granted != 1 {
				err = fmt.Errorf("%+v", a)
			}
			return err
		})
	}
	checkCall(t, client, Table()[0], renewals(t, client))
}

// renewals makes the calls of one worker of a run that goes on.
func renewals(t *testing.T, client rdb.Client) func() error {
	t.Helper()
	r, _, err := run.Create(t.Context(), client, "checkout", spec.Spec{
		Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(500), MaxLag: spec.DefaultMaxLag, CatchUp: spec.DefaultCatchUp, MinWorkers: 1,
	}, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server, member := r.Leases(client), lease.NewHolder("worker-1", run.NewID(), 1)
	call := func() error {
		reply, err := server.Renew(t.Context(), member.Call())
		if err == nil && reply.Status != lease.OK {
			err = fmt.Errorf("%+v", reply)
		}
		if err != nil {
			return err
		}
		member.Receive(time.Now().UnixMicro(), reply) // the server has this machine's clock
		member.Agreed(member.View().Version, reply.Now, reply.Now)
		return nil
	}
	for range 4 { // joins, begins the run, and is promised all of it
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	if len(member.View().Held) == 0 {
		t.Fatal("it holds nothing")
	}
	return call
}

// TestMemory: the memory of a key with 10,000 permits in its window, which grows with them if the table says so.
func TestMemory(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	for _, l := range Table() {
		if !l.Library {
			continue
		}
		memory := func(permits int64) float64 {
			key := fmt.Sprint("checkout-", permits)
			limiter, err := limit.New(l.Name, limit.Redis(client), key, limit.PerWindow(permits, time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			for taken := int64(0); taken < permits; { // in several parts, as in life
				a, err := limiter.Take(t.Context(), permits/20)
				if err != nil || a.Granted == 0 {
					t.Fatalf("%s: %+v, %v", l.Name, a, err)
				}
				taken += a.Granted
			}
			n, err := client.MemoryUsage(t.Context(), "limit:{"+key+"}:"+l.Name+":state", 0).Result()
			if err != nil {
				t.Fatal(err)
			}
			return float64(n)
		}
		few, many := memory(Crowd/10), memory(Crowd)
		if !near(many, float64(l.Memory), 10) || (many > 2*few) != l.PerPermit {
			t.Errorf("%s: %.0f bytes with %d permits and %.0f with %d, the table says %d, growing: %v",
				l.Title(), few, Crowd/10, many, Crowd, l.Memory, l.PerPermit)
		}
	}
}

// TestPage: docs/limiters.md has this table.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/limiters.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, l := range Table() {
		fmt.Fprintf(&want, "| `%s` | R·W + %s | %s | %s | %d | %d + %d | %s | %s |\n",
			l.Title(), l.Extra, l.AtOnce, l.AtBorder, l.Commands, l.Sent, l.Received, l.memory(), l.When)
	}
	_, table, _ := strings.Cut(string(page), "|---|---|---|---|--:|--:|--:|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if table+"\n" != want.String() {
		t.Errorf("docs/limiters.md has\n%s\nwant\n%s", table, want.String())
	}
}

// TestExtras: the x in the text equals the x that is measured against.
func TestExtras(t *testing.T) {
	known := map[string]float64{"1": 1, "b": 30, "c": 700, "2c": 1400, "c·(1 + 2/m)": 840}
	for _, l := range Table() {
		if want, ok := known[l.Extra]; !ok || math.Abs(l.Most(700, 30)-want) > 1e-9 {
			t.Errorf("%s: %s is %v, want %v", l.Title(), l.Extra, l.Most(700, 30), want)
		}
	}
}

// TestWriteTable: the table has all figures of a limiter, and explains the columns.
func TestWriteTable(t *testing.T) {
	chosen, err := Named("sliding-log", "gcra")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := WriteTable(&text, chosen); err != nil {
		t.Fatal(err)
	}
	const want = `LIMITER       BOUND    AT ONCE  AT A BORDER  COMMANDS  BYTES    MEMORY         WHEN TO USE IT
gcra          R·W + 1  1        1            5         495+110  the run's own  runs: even, and without a call for each request
gcra --burst  R·W + b  b        b            5         206+49   152            as the token bucket; with a burst of 1 evenly spaced
sliding-log   R·W + c  c        c            9         220+49   130 a permit   small counts that must be exact in every window

BOUND: `
	if !strings.HasPrefix(text.String(), want) {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
}
