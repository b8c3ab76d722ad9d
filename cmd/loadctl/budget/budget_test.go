package budget

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/budgets"
	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/cli/clitest"
	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/ledger/ledgertest"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// newRootCommand returns loadctl with the commands of this package.
func newRootCommand() *cobra.Command {
	redis := &cli.Redis{}
	return clitest.Loadctl(redis, NewCommand(redis))
}

// bed is a Redis whose ledger grants.
type bed struct {
	*testing.T
	l   ledger.Ledger
	url string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	server := redistest.Start(t)
	return &bed{t, ledgertest.Calm(t, server.Client()), server.URL()}
}

// execute runs loadctl budget in this process.
func (b *bed) execute(args ...string) (stdout, stderr string, code int) {
	return clitest.Execute(newRootCommand(), append([]string{"budget", "--redis", b.url}, args...)...)
}

// does runs a command that succeeds and says nothing beside its output.
func (b *bed) does(args ...string) (text string) {
	b.Helper()
	text, stderr, code := b.execute(args...)
	if code != cli.CodeGood || stderr != "" {
		b.Fatalf("%v: exit code %d, %q, %q", args, code, text, stderr)
	}
	return text
}

// document is does with -o json.
func (b *bed) document(args ...string) (doc budgets.Document) {
	b.Helper()
	if err := json.Unmarshal([]byte(b.does(append(args, "-o", "json")...)), &doc); err != nil {
		b.Fatal(err)
	}
	return doc
}

// refused checks that a command is refused with an exit code and one line.
func (b *bed) refused(code int, args []string, says ...string) {
	b.Helper()
	stdout, stderr, got := b.execute(args...)
	clitest.Refusal{Args: args, Code: code, Says: says}.Check(b.T, stdout, stderr, got)
}

// holds makes a run hold a rate at a host, and returns its next call.
func (b *bed) holds(run, host string, rate int64) reserve.Ask {
	b.Helper()
	return b.asks(reserve.Ask{Host: host, Run: run + "-uid", Want: rate * 1e6}, run)
}

// asks makes a call of a run, and returns the next one, which obeys.
func (b *bed) asks(a reserve.Ask, run string) reserve.Ask {
	b.Helper()
	g, err := b.l.Ask(b.Context(), a, ledger.People{Run: run, Who: "ann@desk", Since: 1_700_000_000_000_000}.Text())
	if err != nil || g.Status != "OK" {
		b.Fatalf("%+v: %+v, error %v", a, g, err)
	}
	a.Right, a.Budgets = reserve.Right{Rate: g.Rate, Version: g.Version, End: g.End}, g.Budgets
	if g.Cap > 0 {
		a.Want = g.Cap
	}
	return a
}

// TestLife asserts what each command prints for the life of a budget.
func TestLife(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, step := range []struct {
		args []string
		says []string
	}{
		{[]string{"ls"}, []string{"BUDGET"}},
		{[]string{"set", "API.example.com", "2.5k", "--note", "agreed with payments"}, []string{"api.example.com: 2500 per second in force, for all runs together; 0 runs hold 0 of it, 2500 are left\n"}},
		{[]string{"set", "api.example.com", "30/1m"}, []string{"api.example.com: 0.5 per second"}},
		{[]string{"ls"}, []string{"api.example.com  0.5   0         0.5   0     open   agreed with payments\n"}},
		{[]string{"set", "*", "100"}, []string{"*: 100 per second in force, for each host that has no other budget; 0 runs hold 0\n"}},
		{[]string{"show", "api.example.com:443"}, []string{"api.example.com:443: 0.5 per second by the budget of api.example.com; runs hold 0, 0.5 are left\n", "agreed with payments", "\n*", "no run holds anything here\n"}},
		{[]string{"show", "other.test"}, []string{"other.test: 100 per second by the budget of *; runs hold 0, 100 are left\n"}},
		{[]string{"show", "*"}, []string{"*: 100 per second for each host that has no other budget; runs hold 0 at all of them\n"}},
		{[]string{"freeze", "*.example.com", "--why", "incident 4711"}, []string{"*.example.com: frozen: no run may send there until loadctl budget thaw *.example.com\n"}},
		{[]string{"show", "api.example.com"}, []string{"0.5 are left; frozen: no run may send there\n", "*.example.com    -     frozen", "incident 4711\n"}},
		{[]string{"set", "*.example.com", "7"}, []string{"*.example.com: 7 per second", "it is frozen: no run may send there until loadctl budget thaw *.example.com\n"}},
		{[]string{"rm", "*.example.com"}, []string{"*.example.com: the budget is removed; it is frozen"}},
		{[]string{"thaw", "*.example.com"}, []string{"*.example.com: thawed\n"}},
		{[]string{"thaw", "*.example.com"}, []string{"*.example.com: thaw: nothing to change\n"}},
		{[]string{"rm", "*"}, []string{"*: the budget is removed\n"}},
		{[]string{"show", "other.test"}, []string{"other.test: no budget bounds it; runs hold 0 per second\n"}},
	} {
		text := b.does(step.args...)
		for _, words := range step.says {
			if !strings.Contains(text, words) {
				t.Errorf("%v: %q does not say %q", step.args, text, words)
			}
		}
	}
	if text := b.does("ls"); strings.Count(text, "\n") != 2 {
		t.Errorf("what was removed is still there: %s", text)
	}
}

// TestRows asserts that ls and show have what runs hold, until when, and what is left.
func TestRows(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.does("set", "api.example.com", "500")
	b.does("set", "*", "900")
	b.holds("checkout", "api.example.com:443", 300)
	b.holds("nightly", "api.example.com:80", 50)
	b.holds("other", "other.test:80", 20)
	list, show := b.does("ls"), b.does("show", "api.example.com")
	for _, words := range []string{"*                900        20", "api.example.com  500        350       150   2", "other.test       each of *  20        -     1"} {
		if !strings.Contains(list, words) {
			t.Errorf("ls does not say %q:\n%s", words, list)
		}
	}
	for _, words := range []string{"runs hold 350, 150 are left", "\ncheckout  api.example.com:443  300", "\nnightly   api.example.com:80   50", "ann@desk  2023-11-14T22:13:20Z"} {
		if !strings.Contains(show, words) {
			t.Errorf("show does not say %q:\n%s", words, show)
		}
	}
	doc := b.document("show", "api.example.com:80")
	if e := doc.Endpoint; e.Budget != "api.example.com" || e.Rate != 500 || e.Reserved != 350 || *e.Left != 150 || e.Frozen {
		t.Errorf("%+v", e)
	}
	if len(doc.Rows) != 2 || doc.Rows[0].Run != "checkout" || doc.Rows[0].UID != "checkout-uid" || doc.Rows[0].Rate != 300 || doc.Rows[0].Budget != "api.example.com" {
		t.Errorf("%+v", doc.Rows)
	}
	if left := doc.Rows[0].Until.Sub(doc.At); left <= 0 || left > reserve.TTL*time.Microsecond {
		t.Errorf("it ends in %v", left)
	}
	if doc := b.document("ls"); len(doc.Rows) != 3 || len(doc.Budgets) != 2 || doc.Endpoint != nil || doc.Change != nil {
		t.Errorf("%+v", doc)
	}
}

// TestFullSaysWhoHoldsIt asserts that a budget below what is reserved is refused, and that the line has the runs.
func TestFullSaysWhoHoldsIt(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.does("set", "*.example.com", "400")
	b.does("set", "api.example.com", "1000")
	b.holds("checkout", "api.example.com:443", 300)
	b.holds("nightly", "www.example.com:80", 200)
	b.refused(0, []string{"set", "api.example.com", "299"}, "set the budget of api.example.com: runs hold more", "checkout 300 per second at api.example.com:443 until 2", "--cut")
	b.refused(0, []string{"set", "*.example.com", "199"}, "nightly 200 per second")
	b.refused(0, []string{"rm", "api.example.com"}, "remove the budget of api.example.com: runs hold more", "checkout 300", "nightly 200")
	if doc := b.document("ls"); doc.Budgets[0].Rate != 400 || doc.Budgets[1].Rate != 1000 {
		t.Errorf("%+v", doc.Budgets)
	}
}

// TestManyHoldersFitALine asserts that an error with many runs is one line that says how many more there are.
func TestManyHoldersFitALine(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for i := range 30 {
		b.holds(fmt.Sprint(strings.Repeat("x", 50), i), "api:80", int64(i+1))
		b.holds("r"+fmt.Sprint(i), "api:80", 1)
	}
	b.refused(0, []string{"set", "api", "1"}, " more; give a higher rate", "--cut")
}

// TestSetWaits asserts that set --cut waits until the run has come down, and says for whom it waits.
func TestSetWaits(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	next := b.holds("checkout", "api:80", 300)
	ended := make(chan []any, 1)
	go func() {
		stdout, stderr, code := b.execute("set", "api", "100", "--cut", "--timeout", "0")
		ended <- []any{stdout, stderr, code}
	}()
	await.True(t, "the cut", func() bool {
		s, err := b.l.List(t.Context())
		return err == nil && s.Rows[0].Cap > 0
	})
	b.asks(b.asks(next, "checkout"), "checkout")
	got := await.Receive(t, "the end of set", ended)
	if got[2] != cli.CodeGood || !strings.HasPrefix(got[0].(string), "api: 100 per second in force, for all runs together; 1 run holds 100 of it, 0 are left\n") {
		t.Errorf("%q", got)
	}
	if stderr := got[1].(string); stderr != "" && !strings.HasPrefix(stderr, "api: waiting: runs have not reported that they obey it: checkout 300 per second at api:80 until ") {
		t.Errorf("%q", stderr)
	}
}

// TestRunsObeyWithoutAJudge asserts that the commands make runs obey: this run has no worker, so nobody else does it. It keeps
// its row, so the command did not wait for the end of that.
func TestRunsObeyWithoutAJudge(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	asked := spec.Spec{Target: targets.Spec{URL: "http://api.test:80/"}, QPS: pacer.PerSecond(300), MaxLag: spec.DefaultMaxLag, CatchUp: spec.DefaultCatchUp, MinWorkers: 1}
	if _, _, err := rights.Create(t.Context(), b.l.Client, "checkout", asked, run.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args     []string
		reserved float64
	}{
		{[]string{"set", "api.test", "900"}, 300},
		{[]string{"freeze", "api.test", "--why", "x"}, 300},
		{[]string{"thaw", "api.test"}, 300},
		{[]string{"set", "api.test", "100", "--cut"}, 100},
		{[]string{"rm", "api.test"}, 100},
	} {
		if _, stderr, code := b.execute(append(step.args, "--timeout", "0")...); code != cli.CodeGood {
			t.Fatalf("%v: exit code %d, %s", step.args, code, stderr)
		}
		if e := b.document("show", "api.test").Endpoint; e.Reserved > step.reserved || e.Reserved < step.reserved*0.999 { // a factor is in millionths
			t.Errorf("after %v runs hold %v", step.args, e.Reserved)
		}
	}
}

// TestShowHasTheLine asserts that show has the runs that wait for room, the first in line first, and no other.
func TestShowHasTheLine(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.does("set", "api.test", "100")
	b.does("set", "*", "100")
	for _, p := range []ledger.Place{{Host: "api.test:80", Run: "2"}, {Host: "api.test:443", Run: "1"}, {Host: "other.test:80", Run: "0"}} {
		p.Rate, p.People = 50e6, ledger.People{Run: "run\n-" + p.Run, Who: "ann@desk"}
		if _, err := b.l.Enter(t.Context(), []ledger.Place{p}); err != nil {
			t.Fatal(err)
		}
	}
	_, line, _ := strings.Cut(b.does("show", "api.test"), "WAITING  HOST          RATE  SINCE")
	lines := strings.Split(line, "\n")
	if len(lines) != 4 || !strings.Contains(lines[1], "-2   api.test:80   50    2") || !strings.Contains(lines[2], "-1   api.test:443  50    2") || !strings.HasSuffix(lines[2], "ann@desk") {
		t.Errorf("%q", lines)
	}
	if d := b.document("show", "api.test:80"); len(d.Waiting) != 2 || d.Waiting[0].UID != "2" || d.Waiting[0].Rate != 50 || d.Waiting[0].Since.After(d.At) {
		t.Errorf("%+v", d.Waiting)
	}
	if d := b.document("show", "*"); len(d.Waiting) != 1 || d.Waiting[0].UID != "0" {
		t.Errorf("%+v", d.Waiting)
	}
	if d := b.document("ls"); len(d.Waiting) != 3 {
		t.Errorf("%+v", d.Waiting)
	}
	if text := b.does("export"); strings.Contains(text, "other.test") {
		t.Errorf("export has the line: %s", text)
	}
}

// TestTimeoutSaysWhoIsMissing asserts that a wait that is too long ends with 1 and names the runs, and the change stays.
func TestTimeoutSaysWhoIsMissing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.holds("checkout", "api:80", 300)
	stdout, stderr, code := b.execute("set", "api", "900", "--timeout", "1ms")
	waiting, line, _ := strings.Cut(stderr, "error: ")
	clitest.Refusal{Code: cli.CodeOther, Says: []string{"api: the change is made, but not all obey it after 1ms", "checkout 300 per second at api:80", "--timeout"}}.Check(t, stdout, "error: "+line, code)
	if waiting != "" && !strings.HasPrefix(waiting, "api: waiting: ") {
		t.Errorf("%q", waiting)
	}
	if doc := b.document("ls"); doc.Budgets[0].Rate != 900 {
		t.Errorf("%+v", doc.Budgets)
	}
	_, stderr, code = b.execute("freeze", "api", "--why", "x", "--timeout", "1ms")
	if code != cli.CodeOther || !strings.Contains(stderr, "checkout") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

// TestNewRedis asserts that the commands say until when a new ledger grants nothing.
func TestNewRedis(t *testing.T) {
	t.Parallel()
	b := &bed{T: t, url: redistest.URL(redistest.Embedded(t))}
	_, stderr, code := b.execute("set", "api", "900", "--timeout", "1ms")
	if code != cli.CodeOther || !strings.Contains(stderr, "nothing new is granted until 2") || !strings.Contains(stderr, "the change is made") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	for _, args := range [][]string{{"ls"}, {"show", "api"}} {
		if text := b.does(args...); !strings.HasPrefix(text, "nothing new is granted until 2") {
			t.Errorf("%v: %q", args, text)
		}
		if doc := b.document(args...); doc.QuietUntil.Sub(doc.At) <= 0 {
			t.Errorf("%v: %+v", args, doc)
		}
	}
}

// TestChangedSince asserts that a change that somebody replaces while it waits ends with 1 and says where to look.
func TestChangedSince(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.holds("checkout", "api:80", 300)
	ended := make(chan []any, 1)
	go func() {
		_, stderr, code := b.execute("set", "api", "900", "--timeout", "0")
		ended <- []any{stderr, code}
	}()
	await.True(t, "the first change", func() bool {
		s, err := b.l.List(t.Context())
		return err == nil && s.Budget("api").Rate == 900e6
	})
	if _, err := b.l.Set(context.WithoutCancel(t.Context()), "api", 800e6, false, ledger.Note{}); err != nil {
		t.Fatal(err)
	}
	got := await.Receive(t, "the end of set", ended)
	if got[1] != cli.CodeOther || !strings.HasSuffix(got[0].(string), "error: set the budget of api: somebody has changed it since: loadctl budget show api tells what it is now\n") {
		t.Errorf("%q", got)
	}
}

// TestExportAndImport asserts that import restores what export has written, once, and keeps all else.
func TestExportAndImport(t *testing.T) {
	t.Parallel()
	from, to := newBed(t), newBed(t)
	file := filepath.Join(t.TempDir(), "budgets.json")
	write := func() {
		if err := os.WriteFile(file, []byte(from.does("export")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write()
	if text := to.does("import", file); text != "nothing to change\n" {
		t.Errorf("no budgets: %q", text)
	}
	from.does("set", "*", "1000.000001", "--note", "a “note”")
	from.does("set", "*.example.com", "100M")
	from.does("set", "api.example.com:443", "2.5k")
	from.does("freeze", "*.example.com", "--why", "incident")
	from.does("set", "gone", "1")
	from.does("rm", "gone")
	from.holds("checkout", "other.test:443", 300)
	write()
	if text := from.does("export"); strings.Contains(text, "checkout") {
		t.Errorf("it has what runs hold: %s", text)
	}
	to.does("set", "kept", "5")
	to.does("freeze", "api.example.com:443", "--why", "stays")
	if text := to.does("import", file); text != "api.example.com:443: set\n*.example.com: set\n*.example.com: frozen\n*: set\n" {
		t.Errorf("%q", text)
	}
	if text := to.does("import", file); text != "nothing to change\n" {
		t.Errorf("%q", text)
	}
	was, is := from.document("ls"), to.document("ls")
	if len(is.Budgets) != 4 || len(was.Budgets) != 3 || is.Budgets[3].Name != "kept" || !is.Budgets[2].Frozen {
		t.Fatalf("%+v", is.Budgets)
	}
	for i, b := range was.Budgets {
		x := is.Budgets[i]
		if x.Name != b.Name || x.Rate != b.Rate || x.Note != b.Note || x.By != b.By || i < 2 && (x.Frozen != b.Frozen || x.Why != b.Why) {
			t.Errorf("%+v was %+v", x, b)
		}
	}
}

// TestImportReadsStandardInput asserts that import - reads what is piped into it.
func TestImportReadsStandardInput(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for in, want := range map[string]int{`{"budgets": [{"name": "api", "rate": 7}]}`: cli.CodeGood, strings.Repeat(" ", mostBytes+1): cli.CodeConfig} {
		root := newRootCommand()
		root.SetIn(strings.NewReader(in))
		if _, stderr, code := clitest.Execute(root, "budget", "--redis", b.url, "import", "-"); code != want {
			t.Errorf("%.40q: exit code %d, %q", in, code, stderr)
		}
	}
	if doc := b.document("ls"); len(doc.Budgets) != 1 || doc.Budgets[0].Rate != 7 {
		t.Errorf("%+v", doc.Budgets)
	}
}

// TestImportBelowWhatIsHeld asserts that a budget of a file that has no room is refused, and the others are set.
func TestImportBelowWhatIsHeld(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.holds("checkout", "api:80", 300)
	file := filepath.Join(t.TempDir(), "budgets.json")
	if err := os.WriteFile(file, []byte(`{"budgets": [{"name": "api", "rate": "299"}, {"name": "other", "rate": 7}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := b.execute("import", file)
	if code != cli.CodeConfig || stdout != "other: set\n" || !strings.Contains(stderr, "api: runs hold more") || !strings.Contains(stderr, "checkout 300") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	if doc := b.document("ls"); len(doc.Budgets) != 1 || doc.Budgets[0].Name != "other" {
		t.Errorf("%+v", doc.Budgets)
	}
}

// TestCompletion asserts that a shell completes the names of budgets.
func TestCompletion(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.does("set", "api.example.com", "500")
	for _, command := range []string{"set", "rm", "show", "freeze", "thaw"} {
		stdout, _, code := clitest.Execute(newRootCommand(), "__complete", "budget", "--redis", b.url, command, "")
		if code != cli.CodeGood || !strings.HasPrefix(stdout, "api.example.com\t500 per second\n") {
			t.Errorf("%s: exit code %d, %q", command, code, stdout)
		}
	}
}

// TestHelpFits asserts that help fits into 100 columns.
func TestHelpFits(t *testing.T) { clitest.HelpFits(t, newRootCommand()) }

// TestWriteError asserts that output that cannot be written is an error.
func TestWriteError(t *testing.T) {
	b := newBed(t)
	b.does("set", "api", "5")
	for _, args := range [][]string{{"ls"}, {"show", "api"}, {"export"}, {"ls", "-o", "json"}, {"set", "api", "6"}} {
		if code := cli.Main(newRootCommand(), append([]string{"budget", "--redis", b.url}, args...), clitest.FullDisk{}, &strings.Builder{}); code != cli.CodeOther {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}
