package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/cli/clitest"
	"github.com/loadctl/loadctl/internal/redistest"
)

// execute runs loadworker in this process.
func execute(args ...string) (stdout, stderr string, code int) {
	return clitest.Execute(newRootCommand(), args...)
}

const secret = clitest.Secret

func refused(t *testing.T, args []string, says ...string) {
	t.Helper()
	clitest.Refused(t, newRootCommand(), args, says...)
}

// file makes a file and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBadServers(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	line := func(redis string) []string {
		return []string{"run", "--redis", redis, "--run", "x", "--url", "noop://", "--qps", "10"}
	}
	closed := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	refused(t, line(""), "--redis redis://host:port", "LOADCTL_REDIS")
	refused(t, line("redis://:"+secret+"@"+closed), "reach Redis at "+closed, "refused", "check --redis")
	refused(t, line("redis://:12/"+secret+"@"+closed), "read the Redis URL", "%2F")
	refused(t, line("http://"+closed), "read the Redis URL")
	refused(t, line("@"+file(t, secret)+"x"), "read the Redis URL", "no such file")
	refused(t, line("@"+file(t, secret)), "read the Redis URL")
	t.Setenv("LOADCTL_REDIS", "redis://:"+secret+"@"+closed)
	refused(t, line(""), "reach Redis at "+closed)
}

// mistake is what is wrong in a command line.
type mistake struct {
	args []string // after the ones that are right, where there are some; of two values the last counts
	says string
}

// refusedAll checks that each mistake is found before anything is written.
func refusedAll(t *testing.T, mistakes []mistake) {
	t.Helper()
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	right := []string{"run", "--run", "x", "--url", "http://127.0.0.1:9/", "--qps", "10"}
	for _, m := range mistakes {
		refused(t, append(append([]string{}, right...), m.args...), m.says)
	}
	nothingWritten(t, server)
}

func nothingWritten(t *testing.T, server *redistest.Server) {
	t.Helper()
	if n, err := server.Client().DBSize(t.Context()).Result(); n != 0 || err != nil {
		t.Errorf("%d keys were written, %v", n, err)
	}
}

func TestBadRuns(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	refusedAll(t, []mistake{
		{[]string{"--run", ""}, "--run: give the name"},
		{[]string{"--run", "a b"}, `run "a b": use 1 to 64 letters`},
		{[]string{"--run", "{a}"}, "use 1 to 64 letters"},
		{[]string{"--run", "a\nb"}, "use 1 to 64 letters"},
		{[]string{"--run", long}, "use 1 to 64 letters"},
		{[]string{"--id", "a/b"}, "--id"},
		{[]string{"--id", long}, "--id"},
		{[]string{"--weight", "0"}, "--weight: give a number from 1"},
		{[]string{"--weight", "-1"}, "--weight: give a number from 1"},
		{[]string{"--weight", "1000001"}, "--weight: give a number from 1"},
		{[]string{"--weight", "heavy"}, "--weight"},
		{[]string{"--min-workers", "0"}, "--min-workers: give a number from 1"},
		{[]string{"--min-workers", "100001"}, "--min-workers: give a number from 1"},
		{[]string{"-c", "0"}, "--max-in-flight: give a number from 1"},
		{[]string{"--max-connections", "0"}, "--max-connections: give a number from 1"},
		{[]string{"--keep", "1s"}, "--keep: at least 1m"},
		{[]string{"--allow-hosts", "http://127.0.0.1/"}, "--allow-hosts"},
		{[]string{"--allow-hosts", "*.example.com"}, "--allow-hosts"},
		{[]string{"-o", "xml"}, `--output "xml": there are text`},
		{[]string{"-o", long}, "--output"},
		{[]string{"--nonsense"}, "unknown flag: --nonsense"},
		{[]string{"nonsense"}, "usage: loadworker run"},
	})
}

func TestBadRates(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	refusedAll(t, []mistake{
		{[]string{"--qps", "-1"}, "--qps: rate \"-1\": not a number"},
		{[]string{"--qps", "NaN"}, "--qps: rate \"NaN\": not a number"},
		{[]string{"--qps", "1e30"}, "--qps: rate \"1e30\": not a number"},
		{[]string{"--qps", "10/0"}, "--qps: rate \"10/0\": after the slash"},
		{[]string{"--qps", "10/-1s"}, "--qps: rate \"10/-1s\": after the slash"},
		{[]string{"--qps", "max"}, "--qps max: a closed loop"},
		{[]string{"--qps", "101M"}, "--qps: rate \"101M\": at most"},
		{[]string{"--qps", "0.0000001"}, "--qps: rate \"0.0000001\": too fine"},
		{[]string{"--qps", "5 k"}, "--qps"},
		{[]string{"--qps", long}, "--qps"},
		{[]string{"--qps", ""}, "--qps: give the rate of the whole cluster"},
		{[]string{"--qps", "0"}, "--qps: give the rate of the whole cluster"},
		{[]string{"--rate", "10"}, "--qps and --rate"},
		{[]string{"--qps", "", "--rate", "x"}, "--rate: rate \"x\""},
		{[]string{"--qps", "", "--rate", "max"}, "--rate max"},
		{[]string{"--duration", "soon"}, "--duration: \"soon\" is not a duration"},
		{[]string{"--duration", "-1s"}, "--duration: \"-1s\" is not a duration"},
		{[]string{"--duration", "10us"}, "--duration: at least 1ms"},
		{[]string{"--duration", "9999d"}, "--duration: give a time up to"},
		{[]string{"-n", "-1"}, "--requests"},
		{[]string{"-n", "many"}, "--requests"},
		{[]string{"-n", "4503599627370496"}, "--requests"},
		{[]string{"--stage", "30s"}, `stage "30s": write DURATION:RATE`},
		{[]string{"--stage", "-1s:5"}, `stage "-1s:5"`},
		{[]string{"--stage", "1s:x"}, `stage "1s:x"`},
		{[]string{"--stage", "0s:5"}, "profile: it has no length"},
		{[]string{"--stage", "9999999h:5"}, "stage"},
		{[]string{"--stage", "1s:5", "--duration", "1m"}, "--stage and --duration"},
		{[]string{"--stage", "1s:5", "--profile", "sine:mean=5,amplitude=1,period=1s"}, "--profile and --stage"},
		{[]string{"--profile", "sine:mean=5,amplitude=1,period=1s"}, "--qps and --profile"},
		{[]string{"--qps", "", "--profile", "zigzag"}, `profile "zigzag": not known`},
		{[]string{"--qps", "", "--profile", "sine:mean=5"}, "amplitude=RATE is missing"},
		{[]string{"--qps", "", "--profile", "steps:from=1,to=5,by=0,every=1s"}, "by=0"},
		{[]string{"--max-lag", "0"}, "--max-lag"},
		{[]string{"--max-lag", "2h"}, "--max-lag"},
		{[]string{"--catch-up", "2h"}, "--catch-up"},
	})
}

func TestBadTargets(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	refusedAll(t, []mistake{
		{[]string{"--url", ""}, "--url: give what to request"},
		{[]string{"--url", "127.0.0.1"}, "url: is not a URL"},
		{[]string{"--url", "http://"}, "url: names no host"},
		{[]string{"--url", "http:///path"}, "url: names no host"},
		{[]string{"--url", "http://u:" + secret + "@"}, "url: names no host"},
		{[]string{"--url", "http://u:" + secret + "%@h/"}, "url: is not a URL"},
		{[]string{"--url", "ftp://h/"}, "url: there is no target for scheme ftp"},
		{[]string{"--url", "http://h:99999/"}, "url: the port"},
		{[]string{"-H", secret}, "--header: parse header: there is no colon"},
		{[]string{"-H", "A B: " + secret}, "--header"},
		{[]string{"-H", "A: " + secret + "\nB: c"}, "--header: parse header: header A: the value holds a line break"},
		{[]string{"-H", "Content-Length: 5"}, "header Content-Length: follows from the body"},
		{[]string{"-H", "@" + missing}, "--header: open "},
		{[]string{"-H", "@" + file(t, "A: b\n\n"+secret+"\n")}, "--header: parse header: there is no colon"},
		{[]string{"-d", "@" + missing}, "--body: read body: open "},
		{[]string{"-D", missing}, "--body-file: read body: open "},
		{[]string{"-D", missing, "-d", secret}, "--body and --body-file"},
		{[]string{"-m", "A B"}, "method"},
		{[]string{"-m", "CONNECT"}, "method"},
		{[]string{"--timeout", "-1s"}, "--timeout"},
		{[]string{"--cacert", missing}, "--cacert: open "},
		{[]string{"--cacert", t.TempDir()}, "--cacert: read "},
		{[]string{"--cacert", file(t, secret)}, "ca: holds no PEM certificate"},
		{[]string{"--cert", missing}, "certificate and the key"},
		{[]string{"--key", missing}, "certificate and the key"},
		{[]string{"--url", "https://h/", "--cert", missing, "--key", missing}, "no such file"},
		{[]string{"--url", "https://h/", "--cert", file(t, secret), "--key", file(t, secret)}, "certificate"},
		{[]string{"--connect-to", "a:b"}, `connect-to "a:b": must have four parts`},
		{[]string{"--connect-to", ":::", "--unix-socket", "/s"}, "unix socket: contradicts connect-to"},
		{[]string{"--redirects", "21"}, "redirects: must be 0 to 20"},
		{[]string{"--redirects", "-1"}, "redirects: must be 0 to 20"},
		{[]string{"--body-limit", "-1"}, "body limit"},
		{[]string{"--expect", "99"}, `expect: "99"`},
	})
}

// TestBadCommands: these are wrong as a whole.
func TestBadCommands(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	for _, m := range []mistake{
		{[]string{"nonsense"}, `unknown command "nonsense" for "loadworker"; see loadworker --help`},
		{[]string{"--nonsense"}, "unknown flag"},
		{[]string{"help", "nonsense"}, "help: there is no command"},
		{[]string{"run"}, "--run: give the name"},
		{[]string{"run", "--run", "x"}, "run x: there is no such run; describe it with --url and --qps, or --wait for it"},
		{[]string{"run", "--run", "x", "--new"}, "--new: describe the run"},
		{[]string{"run", "--run", "x", "--qps", "5"}, "--url: give what to request"},
		{[]string{"run", "--run"}, "flag needs an argument"},
	} {
		refused(t, m.args, m.says)
	}
	nothingWritten(t, server)
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"help", "run"}, {"run", "--help"}} {
		stdout, stderr, code := execute(args...)
		if code != cli.CodeGood || !strings.Contains(stdout, "Usage:") || stderr != "" {
			t.Errorf("%v: exit code %d, %q, %q", args, code, stdout, stderr)
		}
	}
	flags := newRunCommand(&cli.Redis{}).Flags()
	for _, name := range []string{"qps", "stage", "requests"} {
		if usage := flags.Lookup(name).Usage; !strings.Contains(strings.ToLower(usage), "whole cluster") {
			t.Errorf("--%s does not say that it is of the whole cluster: %s", name, usage)
		}
	}
}
