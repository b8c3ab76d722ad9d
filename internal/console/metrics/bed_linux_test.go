package metrics

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/commands"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// bed is a private Redis, a target with slow and wrong answers, and a loadctl ui.
type bed struct {
	*testing.T
	redis    *redistest.Server
	commands string // the directory with loadctl and loadworker
	target   string // host:port
	ui       string // host:port
}

func newBed(t *testing.T) *bed {
	t.Helper()
	built, err := commands.Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(built.Remove)
	b := &bed{T: t, redis: redistest.Start(t), commands: built.Dir, target: address(t), ui: address(t)}
	b.begin("loadctl", nil, "target", "--listen", b.target, "--latency", "2ms", "--jitter", "30ms", "--route", "/broken=status=500")
	b.begin("loadctl", nil, "ui", "--listen", b.ui, "--session-key", filepath.Join(t.TempDir(), "key"))
	b.until("loadctl ui", func() bool { _, err := b.get("http://"+b.ui+"/metrics", nil); return err == nil })
	return b
}

// address returns a free one.
func address(t *testing.T) string { return fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t)) }

// begin starts a command, which ends with the test.
func (b *bed) begin(command string, env []string, args ...string) *child.Process {
	b.Helper()
	if !strings.Contains(command, "/") {
		command = filepath.Join(b.commands, command)
	}
	cmd := exec.Command(command, args...)
	cmd.Dir = b.TempDir() // for the files of counts that Redis did not take
	cmd.Env = append(append(os.Environ(), "LOADCTL_REDIS="+b.redis.URL()), env...)
	p, err := child.Start(cmd, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.Kill)
	return p
}

// until waits for a condition that costs a request.
func (b *bed) until(what string, ok func() bool) {
	b.Helper()
	await.True(b, what, func() bool {
		if ok() {
			return true
		}
		time.Sleep(45 * time.Millisecond)
		return false
	})
}

// ends waits for the end of a command.
func (b *bed) ends(p *child.Process) (code int) {
	b.Helper()
	await.Closed(b, fmt.Sprintf("the end of %q", p.Cmd.Args), p.Exited)
	return p.Cmd.ProcessState.ExitCode()
}

// get returns what a server answers with 200.
func (b *bed) get(address string, form url.Values) (string, error) {
	answer, err := http.Get(address + "?" + form.Encode())
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", answer.StatusCode, text)
	}
	return string(text), err
}

// scraper is a real Prometheus, which scrapes the ui each second.
type scraper struct {
	*bed
	address string
	server  *child.Process
	native  bool // it takes native histograms; without a setting it does not
}

func (b *bed) prometheus(native bool, features ...string) *scraper {
	b.Helper()
	binary, err := exec.LookPath("prometheus")
	if err != nil {
		b.Fatal("prometheus is not installed: apt-get install prometheus")
	}
	config := filepath.Join(b.TempDir(), "prometheus.yml")
	text, err := os.ReadFile("../../../examples/grafana/prometheus.yml")
	if err != nil {
		b.Fatal(err)
	}
	own := strings.NewReplacer("127.0.0.1:8089", b.ui, "scrape_interval: 5s", "scrape_interval: 1s", "rule_files: [rules.yml]", "rule_files: []").Replace(string(text))
	if err := os.WriteFile(config, []byte(own), 0o600); err != nil {
		b.Fatal(err)
	}
	p := &scraper{bed: b, address: address(b.T), native: native}
	args := []string{"--config.file=" + config, "--storage.tsdb.path=" + b.TempDir(), "--web.listen-address=" + p.address}
	if native {
		features = append(features, "native-histograms")
	}
	if len(features) > 0 {
		args = append(args, "--enable-feature="+strings.Join(features, ","))
	}
	p.server = b.begin(binary, nil, args...)
	b.until("Prometheus", func() bool { _, err := b.get("http://"+p.address+"/-/ready", nil); return err == nil })
	return p
}

// A series is a part of an answer of Prometheus.
type series struct {
	Metric map[string]string
	Value  []any   // of an instant query: time and text
	Values [][]any // of a range
}

// ask makes a query.
func (p *scraper) ask(kind string, form url.Values) []series {
	p.Helper()
	text, err := p.get("http://"+p.address+"/api/v1/"+kind, form)
	if err != nil {
		p.Fatalf("%s: %v", form.Get("query"), err)
	}
	var answer struct{ Data struct{ Result []series } }
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		p.Fatal(err)
	}
	return answer.Data.Result
}

// now returns the result of a query that has one value, NaN if it has none.
func (p *scraper) now(query string) float64 {
	p.Helper()
	all := p.ask("query", url.Values{"query": {query}})
	if len(all) != 1 {
		return nan
	}
	return float(all[0].Value)
}

// span returns the results of a query for each second between two times.
func (p *scraper) span(query string, from, to time.Time) []series {
	p.Helper()
	return p.ask("query_range", url.Values{"query": {query}, "start": {from.Format(time.RFC3339Nano)}, "end": {to.Format(time.RFC3339Nano)}, "step": {"1"}})
}

// float returns the value of a pair of time and text.
func float(pair []any) float64 {
	if len(pair) != 2 {
		return nan
	}
	text, _ := pair[1].(string)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nan
	}
	return n
}
