package loadworker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/run"
)

// badQueries are command lines about queries.
func badQueries() []mistake {
	const at, one = "--prometheus=http://127.0.0.1:9090", "--query=cpu=up"
	given := func(says string, args ...string) mistake { return mistake{append([]string{at, one}, args...), says} }
	judged := func(says, condition string) mistake { return given(says, "--threshold", condition) }
	many := []string{at}
	for i := range 21 {
		many = append(many, fmt.Sprintf("--query=q%d=up", i))
	}
	return []mistake{
		{[]string{one}, "--query: say which Prometheus answers it, such as --prometheus http://prometheus:9090"},
		{[]string{at}, "--prometheus has no effect without --query: add one, such as --query cpu='max("},
		{[]string{"--query-stale=1m"}, "--query-stale has no effect without --query; remove it"},
		{[]string{"--query-stale=30s"}, "--query-stale has no effect without --query; remove it"},
		{[]string{at, "--query=up"}, `--query "up": write NAME=PROMQL, such as cpu='max(`},
		{[]string{at, "--query="}, `--query "": write NAME=PROMQL`},
		{[]string{at, "--query==up"}, `--query "=up": it has no name; write NAME=PROMQL, such as cpu=up`},
		{[]string{at, `--query=up{job="a"}`}, `is no name; write NAME=PROMQL with a name of 1 to 40 letters`},
		{[]string{at, "--query=1a=up"}, `"1a" is no name`},
		{[]string{at, "--query=a b=up"}, `"a b" is no name`},
		{[]string{at, "--query=" + strings.Repeat("a", 41) + "=up"}, "is no name"},
		{[]string{at, "--query=cpu="}, "--query cpu=: write what to ask, such as cpu='max("},
		{[]string{at, "--query=cpu= \t"}, "--query cpu=: write what to ask"},
		{[]string{at, "--query=cpu=" + long()}, "--query cpu: it has 1048576 bytes; give at most 1000, or make it a recording rule"},
		{[]string{at, "--query=cpu=\xff"}, "--query cpu: it is not UTF-8; check the quotes"},
		{many, "--query: give at most 20"},
		given("--query: two are called cpu; give each a name of its own", "--query=cpu=down"),
		given(`--prometheus "prometheus:9090" is not the URL of a Prometheus; write it as http://prometheus:9090`, "--prometheus=prometheus:9090"),
		given(`--prometheus "ftp://h/" is not the URL of a Prometheus`, "--prometheus=ftp://h/"),
		given(`--prometheus "http://:9090" is not the URL of a Prometheus`, "--prometheus=http://:9090"),
		given("--prometheus \"[redacted]\" is not the URL of a Prometheus", "--prometheus=http://u:"+secret+"@h:port/"),
		given("a run keeps no secrets, so the URL may have no user and password; set LOADCTL_PROMETHEUS_TOKEN where the workers run", "--prometheus=http://u:"+secret+"@h/"),
		given(`--prometheus "http://h/": leave out what follows ? or #`, "--prometheus=http://h/?token="+secret),
		given(`--prometheus "http://h/": leave out what follows ? or #`, "--prometheus=http://h/#graph"),
		given("--query-stale 0: give a time from 10s to 5m0s, such as 30s", "--query-stale=0"),
		given("--query-stale: give whole seconds from 10s to 5m0s, such as 30s; a query is asked every 5 s", "--query-stale=4s"),
		given("--query-stale: give whole seconds", "--query-stale=6m"),
		given("--query-stale: give whole seconds", "--query-stale=10500ms"),
		{[]string{"--threshold", "query{cpu}:value<1 over 30s"}, "there is no query cpu; add --prometheus URL and --query cpu=PROMQL"},
		judged("there is no query ram; there is cpu", "query{ram}:value<1 over 30s"),
		judged("column 6: name the query in braces, as in query{cpu}:value<0.8 over 30s", "query:value<1 over 30s"),
		judged("column 7: name one query, as in query{cpu}", "query{}:value<1 over 30s"),
		judged("column 7: name one query, as in query{cpu}", "query{1}:value<1 over 30s"),
		judged("column 11: the closing brace is missing; write query{step}:value", "query{step=a}:value<1 over 30s"),
		judged("column 12: query has value", "query{cpu}:max<1 over 30s"),
		judged("column 17: compare the values of a query with <, <=, >, >= or ==", "query{cpu}:value!=1 over 30s"),
		judged("column 19: \"%\" is not a valid unit here; write the limit as in 0.8, -5 or 2.5G", "query{cpu}:value<8% over 30s"),
		judged("the values of a query are judged in windows; say how long they are, such as over 30s", "query{cpu}:value<1"),
		judged("a query is asked every 5 s; give windows of at least 10s, such as over 30s", "query{cpu}:value<1 over 5s"),
		given("the run takes 20s", "--duration=20s", "--threshold", "query{cpu}:value<1 over 30s"),
	}
}

// TestPrometheusNotAllowed: a worker asks a Prometheus only if --allow-hosts allows that. A run without queries needs none.
func TestPrometheusNotAllowed(t *testing.T) {
	f := newFleet(t)
	spec := specOf(t, "--url", f.second.URL, "--qps", "200", "-n", "5", "--min-workers", "2", "--prometheus", "http://prometheus.example.com", "--query", "cpu=up")
	if _, _, err := run.Create(t.Context(), f.redis.Client(), "x", spec, run.Options{}); err != nil {
		t.Fatal(err)
	}
	const says = "the run asks the Prometheus at prometheus.example.com:80 (--prometheus), which --allow-hosts does not allow; nothing was sent. To allow it, add it to --allow-hosts"
	refused(t, []string{"run", "--run", "x", "--start-timeout", "1s", "--allow-hosts", "127.0.0.1"}, says)
	refused(t, []string{"run", "--run", "x", "--start-timeout", "1s", "--allow-hosts", "127.0.0.1,prometheus.example.com:81"}, says)
	described := []string{"run", "--run", "y", "--url", f.second.URL, "--qps", "1", "--duration", "50ms", "--prometheus", "http://prometheus.example.com", "--query", "cpu=up"}
	refused(t, append(described, "--allow-hosts", "127.0.0.1"), says)
	for _, allow := range []allowFlags{{any: true}, {hosts: []string{"prometheus.example.com"}}, {hosts: []string{"prometheus.example.com:80"}}} {
		if err := allow.checkQueries(spec); err != nil {
			t.Errorf("%+v: %v", allow, err)
		}
	}
	if err := (&allowFlags{}).checkQueries(specOf(t, "--url", f.second.URL, "--qps", "200")); err != nil {
		t.Error(err)
	}
}
