package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/cli/clitest"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
)

// mistake is a command line with an error, and the expected message.
type mistake struct {
	args []string
	says string
}

// describing returns command lines of create and run without mistakes, followed by more. Of two values the last counts.
func describing(more ...string) [][]string {
	var lines [][]string
	for _, command := range []string{"create", "run"} {
		line := []string{command, "x", "--qps", "10"}
		if !slices.ContainsFunc(more, func(s string) bool { return strings.HasPrefix(s, "--url") }) { // it may be given only once
			line = append(line, "--url", "http://127.0.0.1:9/")
		}
		lines = append(lines, append(line, more...))
	}
	return lines
}

// waiting creates the run "there", which waits for two workers.
func waiting(t *testing.T, client rdb.Client) *run.Run {
	t.Helper()
	spec := spec.Spec{
		Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(10), MaxLag: spec.DefaultMaxLag, CatchUp: spec.DefaultCatchUp, MinWorkers: 2,
	}
	r, _, err := run.Create(t.Context(), client, "there", spec, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBadInput: an error in a command line is found before anything is written, and the message says what to do.
func TestBadInput(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	waiting(t, server.Client())
	rows := 0
	for kind, mistakes := range map[string][]mistake{
		"rates": badRates(), "names": badNames(), "numbers": badNumbers(), "durations": badDurations(), "URLs": badURLs(),
		"arguments": badArguments(), "servers": badServers(t), "files": badFiles(t), "runs": badRuns(),
	} {
		t.Run(kind, func(t *testing.T) {
			var all []clitest.Refusal
			for _, m := range mistakes {
				all = append(all, clitest.Refusal{Args: m.args, Says: []string{m.says}})
			}
			clitest.RefusedAll(t, newRootCommand, server.Client(), all)
		})
		rows += len(mistakes)
	}
	if rows < 60 {
		t.Errorf("only %d inputs", rows)
	}
}

func badRates() []mistake {
	const form = "not a number of requests per second; write 500, 2.5k, 1M, 0.2 or 30/m"
	says := map[string]string{
		"10/0": "write a time above zero after the slash, such as 30/m", "10/-1s": "write a time above zero after the slash", "10/": "write a time above zero after the slash",
		"101M": "at most 100000000 requests per second", "-1": "a rate is not negative; write 500", "0.0000001": "too fine; use at most six decimals",
	}
	for _, rate := range []string{"NaN", "Inf", "1e30", "100G", "0x10", "5 k", "1.2.3", "+5", "k", "١", strings.Repeat("9", 1<<20)} {
		says[rate] = form
	}
	all := []mistake{
		{[]string{"set-rate", "there", "-1"}, "-1: nothing here is negative; a rate, a time or a number is at least 0; see loadctl set-rate --help"},
		{[]string{"set-rate", "there", "max"}, "set-rate: a run with a rate cannot become a closed loop; stop it, and create one with --qps max"},
		{[]string{"set-rate", "there", ""}, `rate "": ` + form},
	}
	for rate, say := range says {
		all = append(all, mistake{[]string{"set-rate", "there", "--", rate}, say})
		for _, line := range describing("--qps", rate) {
			all = append(all, mistake{line, say})
		}
	}
	for _, line := range describing("--qps", "max", "--stage", "10s:5") {
		all = append(all, mistake{line, "--qps max and --stage: a ramp needs a rate to begin with, such as --qps 100; or leave --stage out"})
	}
	for _, line := range describing("--qps", "max", "--requests", "5") {
		all = append(all, mistake{line, "--qps max and --requests: without a rate nobody counts requests before they are sent"})
	}
	for _, rate := range []string{"", "0"} {
		for _, line := range describing("--qps", rate) {
			all = append(all, mistake{line, "--qps: give the rate of the whole cluster, such as --qps 500"})
		}
	}
	return all
}

// named returns the commands that take a run, with their other arguments. Those that create a run come last.
func named() [][]string {
	lines := append(onARun(), []string{"start", "x"}, []string{"watch", "x"}, []string{"rm", "x", "--force"})
	return append(lines, describing()...)
}

func badNames() []mistake {
	var all []mistake
	for _, line := range named() {
		for _, name := range []string{"", "a b", "{a}", "a/b", "a\nb", "ä", "a\x00", "*", ".", strings.Repeat("x", 1<<20)} {
			line := slices.Clone(line)
			line[1] = name
			all = append(all, mistake{line, "use 1 to 64 letters, digits, dots, dashes and underscores"})
		}
	}
	for _, line := range describing() {
		line[1] = "x.loadctl"
		all = append(all, mistake{line, `run "x.loadctl": only files have names that end in .loadctl; take another name`})
	}
	return all
}

func badNumbers() []mistake {
	all := []mistake{
		{[]string{"events", "there", "--last", "0"}, "--last: give a number of 1 or more"},
		{[]string{"events", "there", "--last", "-1"}, "--last: give a number of 1 or more"},
		{[]string{"events", "there", "--last", "many"}, `--last "many": not a value of type int64; see loadctl events --help`},
		{[]string{"events", "there", "--last", "99999999999999999999"}, "--last"},
		{[]string{"rm", "there", "--force=perhaps"}, `--force "perhaps": not a value of type bool; see loadctl rm --help`},
	}
	for flag, says := range map[string]string{
		"--requests=-1": "--requests: give the number of requests of the whole cluster; 0 means no limit", "--requests=4503599627370496": "--requests: give the number",
		"--min-workers=-1": "--min-workers: give a number up to 100000; 0 means until loadctl start", "--min-workers=100001": "--min-workers: give a number up to 100000",
		"--on-redis-loss=fire": `--on-redis-loss "fire": write one of permit, stop, hold`, "--on-redis-loss=": `--on-redis-loss "": write one of permit, stop, hold`,
		"--on-redis-loss=Permit": `--on-redis-loss "Permit": write one of`, "--on-redis-loss=\x1b[2J" + strings.Repeat("x", 1<<20): "write one of permit, stop, hold",
		"--redirects=-1": "redirects: must be 0 to 20", "--body-limit=-1": "body limit: must not be negative", "--requests=1.5": "--requests: give the number of requests of the whole cluster; 0 means no limit; write 1500, 1.5k or 2M",
	} {
		for _, line := range describing(flag) {
			all = append(all, mistake{line, says})
		}
	}
	return all
}

func badDurations() []mistake {
	const form = "is not a duration; write 30s, 5m, 1h30m or 2d"
	all := []mistake{
		{[]string{"set-rate", "there", "5", "--over", "soon"}, form},
		{[]string{"set-rate", "there", "5", "--over", "-1s"}, form},
		{[]string{"set-rate", "there", "5", "--over", "1us"}, "--over: give a time from 1ms to"},
		{[]string{"set-rate", "there", "5", "--over", "9999d"}, "--over: give a time from 1ms to"},
		{[]string{"watch", "there", "--progress", "10ms"}, "--progress: give 1s or more, or 0 for none"},
		{[]string{"run", "x", "--url", "noop://", "--qps", "1", "--progress", "10ms"}, "--progress: give 1s or more, or 0 for none"},
		{[]string{"watch", "there", "--progress", "often"}, form},
	}
	for _, loss := range []string{"stop", "hold"} {
		for _, line := range describing("--on-redis-loss", loss, "--permit-for", "10s") {
			all = append(all, mistake{line, "--permit-for and --on-redis-loss " + loss + ": only permit has a length, leave --permit-for out"})
		}
	}
	for flag, says := range map[string]string{
		"--duration=soon": form, "--duration=-1s": form, "--duration=10": form, "--duration=10us": "--duration: at least 1ms", "--duration=9999d": "--duration: give a time up to",
		"--keep=1s": "--keep: at least 1m", "--keep=0": "--keep: at least 1m", "--keep=-1h": form, "--wait-budget=10": form, "--wait-budget=-1s": form, "--max-lag=0": "--max-lag: give a time up to 1h", "--timeout=-1s": form,
		"--permit-for=0": "--permit-for 0: give a time from 1s to 10m0s, or --on-redis-loss stop", "--permit-for=999ms": "--permit-for: give a time from 1s to 10m0s, such as 10s",
		"--permit-for=601s": "--permit-for: give a time from 1s to 10m0s", "--permit-for=-1s": form, "--permit-for=long": form, "--permit-for=": form,
		"--deadman=1ms": "--deadman: give a time from 3s to 24h0m0s, such as 30s; 0 means never", "--deadman=2999ms": "--deadman: give a time from", "--deadman=25h": "--deadman: give a time from",
		"--deadman=-1s": form, "--deadman=30": form,
		"--window=1ns": "--window: the slots of a run, gcra without a burst, have no such thing", "--window=0": "--window: give a time above 0, such as 1s",
		"--catch-up=2h": "--catch-up: give a time up to 1h", "--stage=0s:5": "profile: it has no length; give a stage", "--stage=1s": "write DURATION:RATE, such as 30s:200",
	} {
		for _, line := range describing(flag) {
			all = append(all, mistake{line, says})
		}
	}
	return all
}

func badURLs() []mistake {
	const form = "write http://host[:port]/path"
	var all []mistake
	for _, more := range [][]string{{"--limiter", "gcra"}, {"--burst", "4"}} { // the given flag is named
		for _, line := range describing(append(more, "--qps", "max")...) {
			all = append(all, mistake{line, more[0]}, mistake{line, " and --qps max: without a rate there is nothing to limit; give a rate, or leave " + more[0] + " out"})
		}
	}
	for flag, says := range map[string]string{
		"--limiter=Token-Bucket": `--limiter "Token-Bucket": did you mean token-bucket? Or there are fixed-window, `, "--limiter=": `--limiter "": there are fixed-window, `,
		"--burst=0": `--burst: "0" is no number of requests; write 1 to 1000000000, such as 20 or 2.5k`, "--burst=1e3": `--burst: "1e3" is no number`,
		"--expire=": `--expire "": there is nx; or leave it out`, "--url=": "--url: give what to request",
	} {
		for _, line := range describing("--limiter=token-bucket", flag) {
			all = append(all, mistake{line, says})
		}
	}
	for url, says := range map[string]string{
		"": "--url: give what to request", "127.0.0.1": "url: is not a URL; " + form, "localhost:80": "there is no target for scheme localhost; there is grpc, grpcs, http, https, noop, redis, rediss, tcp, udp, ws or wss",
		"http://": "url: names no host; " + form, "http:///x": "url: names no host; " + form, "http://u:" + secret + "%@h/": "url: is not a URL; " + form,
		"ftp://" + "h/": "there is no target for scheme ftp", "http://h:99999/": "url: the port must be 1 to 65535", "http://h:0": "url: the port must be 1 to 65535",
		"http://h:x": "url: is not a URL; " + form, "http://ä/": "write an international name in its xn-- form", "http://h\n/" + secret: "url: is not a URL; " + form,
		"noop://?latency=soon": "write noop://?latency=1ms",
	} {
		for _, line := range describing("--url", url) {
			all = append(all, mistake{line, says})
		}
	}
	return all
}

func badArguments() []mistake {
	long := strings.Repeat("x", 1<<20)
	all := []mistake{
		{[]string{"create"}, "error: create: give the name of one run; usage: loadctl create RUN --url URL --qps RATE [flags]"},
		{[]string{"set-rate", "there"}, "error: set-rate: give the name of one run and a rate, such as 500; usage: loadctl set-rate RUN RATE [flags]"},
		{[]string{"status", "there", "x"}, `error: status: give the name of one run, "x" is one too many; usage: loadctl status RUN [flags]`},
		{[]string{"set-burst", "there", "many"}, `set-burst: "many" is no number of requests; write 1 to 1000000000, such as 20 or 2.5k`},
		{[]string{"set-burst", "there", "1/1s"}, `set-burst: "1/1s" is no number of requests`},
		{[]string{"set-burst", "there", "0.5"}, `set-burst: "0.5" is no number of requests`},
		{[]string{"set-burst", "there", "0"}, `set-burst: "0" is no number of requests`},
		{[]string{"create", "x", "--url", "noop://", "--spread", "false"}, `create: give the name of one run, "false" is one too many; a flag has it with =, as in --spread=false; usage`},
		{[]string{"stop", "there", "--all"}, "stop: give the name of one run, or --all"},
		{[]string{"stop", "--all", "--yes", "there"}, "stop: give the name of one run, or --all"},
		{[]string{"stop", "--all"}, "stop --all: there is no terminal to ask on; give --yes if all runs are to be stopped"},
		{[]string{"stop", "there", "--yes"}, "--yes: it confirms --all; give --all too, or leave --yes out"},
		{[]string{"stop", "--yes"}, "--yes: it confirms --all"},
		{[]string{"stop", "--all", "--yes", "-o", "xml"}, `--output "xml": there are text, json`},
		{[]string{"workers", "rm"}, "workers rm: give the name of one run and its dead workers; loadctl workers RUN lists them; usage: loadctl workers rm RUN WORKER"},
		{[]string{"workers", "rm", "there"}, "workers rm: give the name of one run and its dead workers"},
		{[]string{"workers", "rm", "there", "w"}, "remove worker w of run there: there is no such worker; none has joined yet"},
		{[]string{"workers", "rm", "there", "w", "--force"}, "there is no such worker"},
		{[]string{"workers", "rm", "there", "a b"}, "there is no such worker"},
		{[]string{"workers", "rm", "there", long}, "there is no such worker"},
		{[]string{"workers", "rm", "there", "\x1b[2J"}, "there is no such worker"},
		{[]string{"workers", "rm", "x", "w"}, "run x: there is no such run; loadctl ls lists the runs"},
		{[]string{"workers", "rm", "a b", "w"}, "use 1 to 64 letters, digits, dots, dashes and underscores"},
		{[]string{"workers", "rm", "there", "w", "-o", "xml"}, `--output "xml": there are text, json`},
		{[]string{"workers", "rm", "there", "w", "--force=perhaps"}, `--force "perhaps": not a value of type bool; see loadctl workers rm --help`},
		{[]string{"workers", "rm", "there", "w", "--nonsense"}, "unknown flag: --nonsense; see loadctl workers rm --help"},
		{[]string{"ls", "x"}, `error: ls: takes no arguments, "x" is one too many; usage: loadctl ls [flags]`},
		{[]string{"ls", long}, "is one too many; usage: loadctl ls"},
		{[]string{"man"}, "error: man: give a directory; usage: loadctl man DIR"},
		{[]string{"version", "x"}, "version: takes no arguments"},
		{[]string{"ls", "-o", "xml"}, `--output "xml": there are text, json`},
		{[]string{"nonsense"}, `unknown command "nonsense" for "loadctl"; see loadctl --help`},
		{[]string{"setrate", "there", "5"}, `unknown command "setrate" for "loadctl"; did you mean set-rate? Or see loadctl --help`},
		{[]string{"statsu", "there"}, "did you mean status?"},
		{[]string{"help", "reprot"}, `help: there is no command "reprot"; did you mean report? Or see loadctl --help`},
		{[]string{long}, "unknown command"},
		{[]string{"--nonsense"}, "unknown flag: --nonsense; see loadctl --help"},
	}
	for _, line := range named() {
		all = append(all,
			mistake{line[:1], ": give the name of one run"},
			mistake{append(slices.Clone(line), "more"), `"more" is one too many; usage: loadctl ` + line[0] + " RUN"},
			mistake{append(slices.Clone(line), "--nonsense"), "unknown flag: --nonsense; see loadctl " + line[0] + " --help"})
		if line[0] != "rm" {
			all = append(all, mistake{append(slices.Clone(line), "-o", "xml"), `--output "xml": there are text`})
		}
	}
	return all
}

func badServers(t *testing.T) []mistake {
	closed := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	file := filepath.Join(t.TempDir(), "missing")
	var all []mistake
	for url, says := range map[string]string{
		"redis://:" + secret + "@" + closed: "reach Redis at " + closed + ": dial tcp " + closed + ": connect: connection refused; check --redis or LOADCTL_REDIS",
		"redis://:12/" + secret + "@h":      "write / ? # @ % in a password as %2F", "nonsense": "not of the form redis://", "http://" + closed: "not of the form redis://",
		"@" + file: "no such file or directory; write the path of a file with the URL after the @", "@" + t.TempDir(): "is a directory; write the path",
		"embedded": "the server is in a worker, which prints its address; give that, redis://127.0.0.1:PORT", "embedded:6380": "the server is in a worker",
		"embedded:notaport": "the server is in a worker",
	} {
		for _, line := range append(named(), []string{"ls"}) {
			all = append(all, mistake{append(line, "--redis", url), says})
		}
	}
	for _, line := range [][]string{{"pause", "x"}, {"stop", "x"}, {"stop", "--all", "--yes"}} {
		all = append(all, mistake{append(line, "--redis", "redis://"+closed), "; nothing was changed"})
	}
	return all
}

func badFiles(t *testing.T) []mistake {
	nowhere := filepath.Join(t.TempDir(), "no", "such")
	var all []mistake
	for _, line := range [][]string{{"report", "there"}, {"watch", "there"}, describing()[1]} {
		all = append(all,
			mistake{append(slices.Clone(line), "--out", nowhere), "no such file or directory; give a file in a directory that is there and can be written to"},
			mistake{append(slices.Clone(line), "--out", t.TempDir()), "is no regular file; give the path of one"},
			mistake{append(slices.Clone(line), "--out", strings.Repeat("x", 1000)), "file name too long; give a file"},
			mistake{append(slices.Clone(line), "--out", "fl.pdf"), "no format of the report ends in .pdf; there are .txt .json"})
	}
	for _, line := range describing("-d", "@"+nowhere) {
		all = append(all, mistake{line, "no such file or directory; give the path of a file that can be read"})
	}
	return all
}

// badRuns are valid command lines that do not fit the existing runs.
func badRuns() []mistake {
	var all []mistake
	for _, line := range onARun() {
		if line[0] != "stop" { // stop leaves a mark for workers: TestStopOfNoRun
			all = append(all, mistake{line, "run x: there is no such run; loadctl ls lists the runs"})
		}
	}
	for _, line := range describing() {
		line[1] = "there"
		for _, more := range []string{"--min-workers=2", "--new"} { // it still waits
			all = append(all, mistake{append(slices.Clone(line), more), "run there exists with another spec ("}, mistake{append(slices.Clone(line), more), "; take another name, or --new once it has ended"})
		}
	}
	return append(all,
		mistake{[]string{"start", "x"}, "run x: there is no such run"}, mistake{[]string{"watch", "x"}, "run x: there is no such run"},
		mistake{[]string{"pause", "there"}, "it waits for its workers; loadctl start begins it"}, mistake{[]string{"resume", "there"}, "it waits for its workers"})
}

// TestServersThatRefuse: the message has the server's words and ours, and the data in Redis stays unchanged.
func TestServersThatRefuse(t *testing.T) {
	for _, s := range clitest.Servers(t, func(client rdb.Client) { waiting(t, client) }) {
		t.Run(s.Name, func(t *testing.T) {
			t.Setenv("LOADCTL_REDIS", s.URL)
			var all []clitest.Refusal
			refuses := func(code int, lines ...[]string) {
				for _, line := range lines {
					all = append(all, clitest.Refusal{Args: line, Code: code, Says: s.Says})
				}
			}
			refuses(cli.CodeConfig, describing()...)
			refuses(cli.CodeConfig, []string{"create", "there", "--url", "noop://", "--qps", "10", "--min-workers", "2"})
			reads := [][]string{{"status", "there"}, {"workers", "there"}, {"report", "there"}, {"events", "there"}, {"ls"}}
			if code := map[bool]int{true: cli.CodeOther}[s.Other]; !s.Empty {
				refuses(code, []string{"set-rate", "there", "5"}, []string{"start", "there"})
				if s.Name != "full" {
					refuses(code, []string{"stop", "there"})
				}
			}
			if !s.Reads && !s.Other {
				for _, line := range append(reads, []string{"watch", "there"}, []string{"rm", "there"}) {
					if line[0] != "ls" { // it opens no run, so its errors differ
						refuses(cli.CodeConfig, line)
					}
				}
			}
			clitest.RefusedAll(t, newRootCommand, s.Client, all)
			for _, line := range reads {
				if stdout, stderr, code := execute(line...); s.Reads && !s.Empty && (code != cli.CodeGood || stdout == "" || stderr != "") {
					t.Errorf("%q only reads: exit code %d, %s", line, code, stderr)
				}
			}
			if s.Name == "full" { // stop works, and so does the advised command
				for _, line := range [][]string{{"stop", "there"}, {"rm", "there"}} {
					if _, stderr, code := execute(line...); code != cli.CodeGood {
						t.Errorf("%q: exit code %d, %s", line, code, stderr)
					}
				}
			}
		})
	}
}

// TestBusyServer: a script of another client blocks the server.
func TestBusyServer(t *testing.T) {
	server := redistest.Start(t, "--lua-time-limit", "1")
	client := server.Client()
	waiting(t, client)
	before := redistest.Contents(t, client)
	t.Setenv("LOADCTL_REDIS", server.URL())
	ended := make(chan error, 1)
	go func() { ended <- client.Eval(t.Context(), "while true do end", nil).Err() }()
	await.True(t, "a server that is busy", func() bool { return client.Ping(t.Context()).Err() != nil })
	refused(t, []string{"status", "there"}, "BUSY Redis is busy running a script", "wait, or end it with redis-cli script kill")
	if err := client.ScriptKill(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	await.Receive(t, "the end of the script", ended)
	if after := redistest.Contents(t, client); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("Redis holds %v and held %v", after, before)
	}
}

// TestServerThatHangs: no command waits for ever.
func TestServerThatHangs(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	server.Pause()
	began := time.Now()
	refused(t, []string{"status", "there"}, "reach Redis at "+server.Addr(), "check --redis or LOADCTL_REDIS")
	await.Soon(t, "a refusal", time.Since(began), 20*time.Second)
}

// A brokenRun is damage to the data of a run, and the commands that meet it.
type brokenRun struct {
	harm  []harm
	lines [][]string
	says  []string
}

// A harm is a Redis command.
type harm []any

// notWhole begins the message of every command about a broken run.
const notWhole, remove = "x: its state in Redis is damaged: ", "loadctl rm x removes what is there"

// brokenLines returns commands that read a run, that change it, that watch it, and all that read its description.
func brokenLines() (reads, changes, watch, all [][]string) {
	reads = [][]string{{"status", "x"}, {"workers", "x"}, {"report", "x"}}
	changes = [][]string{{"set-rate", "x", "5"}, {"pause", "x"}, {"stop", "x"}}
	watch = [][]string{{"watch", "x"}}
	return reads, changes, watch, slices.Concat(reads, changes, watch, [][]string{{"events", "x"}, {"start", "x"}}, describing(), describing("--new"))
}

// brokenKeys are keys that are missing or of another type.
func brokenKeys() map[string]brokenRun {
	keys := run.KeysOf("x")
	reads, changes, watch, all := brokenLines()
	set := func(key string) []harm { return []harm{{"set", key, secret}} }
	says := []string{notWhole, remove}
	return map[string]brokenRun{
		"spec gone":     {[]harm{{"del", keys.Spec}}, all, says},
		"budget gone":   {[]harm{{"del", keys.Budget}}, all, says},
		"spec foreign":  {set(keys.Spec), all, []string{notWhole + "its spec was not written by loadctl; ", remove}},
		"spec too new":  {[]harm{{"set", keys.Spec, `{"version":1000}`}}, all, []string{"x: its state in Redis is of a newer version", "use a newer loadctl"}},
		"budget string": {set(keys.Budget), all, says},
		"spec list":     {[]harm{{"del", keys.Spec}, {"lpush", keys.Spec, secret}}, all, says},

		"workers string": {set(keys.Workers), slices.Concat(reads, changes, watch), says},
		"laws string":    {set(keys.Laws), slices.Concat(reads, changes, watch), says},
		"due string":     {set(keys.Due), slices.Concat(reads, changes, watch), says},
		"loose string":   {set(keys.Unowned), slices.Concat(reads, changes, watch), says},
		"log string":     {set(keys.Log), slices.Concat(reads, changes, watch), says},
		"totals string":  {set(keys.Totals), append(changes, []string{"report", "x"}, []string{"watch", "x"}), says},
		"series string":  {set(keys.Series), append(changes, []string{"report", "x"}), says},
		"stream string":  {set(keys.Snapshots), slices.Concat(changes, watch), says},
		"events string":  {set(keys.Events), append(changes, []string{"events", "x"}), says},
	}
}

// brokenFields are fields that are missing or invalid. The run has a snapshot of worker w/i.
func brokenFields(snapshot string) map[string]brokenRun {
	keys := run.KeysOf("x")
	reads, changes, watch, _ := brokenLines()
	field := func(key, name, text string) []harm { return []harm{{"hset", key, name, text}} }
	gone := func(name string) []harm { return []harm{{"hdel", keys.Budget, name}} }
	starts := slices.Concat(reads, changes, watch, [][]string{{"start", "x"}})
	shortened, reports, says := snapshot[:len(snapshot)/2], [][]string{{"report", "x"}}, []string{notWhole, remove}
	return map[string]brokenRun{
		"core gone":        {gone("core"), starts, says},
		"core, a word":     {field(keys.Budget, "core", "many"), starts, says},
		"laws, a word":     {field(keys.Budget, "laws", "1:2:3"), starts, says},
		"the plan is gone": {gone("plan/0"), slices.Concat(reads, watch), says},
		"the plan, a word": {field(keys.Budget, "plan/0", "dancing"), slices.Concat(reads, watch), says},

		"a worker that is none": {field(keys.Workers, "w", secret[:1]), slices.Concat(reads, watch), says},
		"a law that is none":    {field(keys.Laws, "1", "1:2:3"), slices.Concat(reads, watch), says},
		"half a snapshot":       {field(keys.Totals, "w/i", shortened), reports, []string{"read snapshot of worker w: decode snapshot: unexpected end of JSON input", remove}},
		"a foreign snapshot":    {field(keys.Totals, "w/i", "{}"), reports, []string{"read snapshot of worker w: decode snapshot: no valid version", remove}},
		"a newer snapshot":      {field(keys.Totals, "w/i", `{"v":2}`), reports, []string{"version 2 is newer than version 1 known here; update this program"}},
		"half, watched":         {field(keys.Totals, "w/i:counts", `{"seq":`), watch, []string{notWhole + "read snapshot of worker w", remove}},
		"a point that is none":  {field(keys.Series, "w/i", "point"), reports, []string{notWhole + "read series: worker \"w/i\"", remove}},
		"a page of no point":    {field(keys.Series, ":3:0", "12345"), reports, []string{notWhole + "read series: page", remove}},
		"half a page":           {field(keys.Series, ":1:0", "1234"), reports, []string{notWhole + "read series: page", remove}},
	}
}

// TestBrokenRuns: every command that meets damaged data of a run says so and does no further damage, and rm removes the
// run.
func TestBrokenRuns(t *testing.T) {
	l := newLab(t)
	l.start()
	client, keys := l.redis.Client(), run.KeysOf("x")
	one := record.NewSnapshot("w", "i")
	one.Seq = 1
	if err := results.NewJournal(l.run, "w", "i").Publish(t.Context(), one, one, nil); err != nil {
		t.Fatal(err)
	}
	whole := dumped(t, client)
	cases := brokenFields(client.HGet(t.Context(), keys.Totals, "w/i").Val())
	maps.Copy(cases, brokenKeys())
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			restore(t, client, whole)
			for _, command := range c.harm {
				if err := client.Do(t.Context(), command...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			meetBroken(t, client, c)
		})
	}
}

// meetBroken runs each command on a broken run: it is refused, ls still lists the run, and rm leaves nothing behind.
func meetBroken(t *testing.T, client rdb.Client, c brokenRun) {
	t.Helper()
	var refusals []clitest.Refusal
	for _, line := range c.lines {
		refusals = append(refusals, clitest.Refusal{Args: line, Says: c.says})
	}
	clitest.RefusedAll(t, newRootCommand, client, refusals)
	if stdout, stderr, code := execute("ls"); code != cli.CodeGood || !strings.Contains(stdout, "\nx ") {
		t.Errorf("ls: exit code %d, %s%s", code, stdout, stderr)
	}
	stops := slices.ContainsFunc(c.lines, func(line []string) bool { return line[0] == "stop" })
	if _, stderr, code := execute("rm", "x"); code != cli.CodeGood && (!strings.Contains(stderr, "--force") || strings.Contains(stderr, "loadctl stop") && stops) {
		t.Errorf("rm: exit code %d, and not what helps: %s", code, stderr)
	}
	if _, stderr, code := execute("rm", "x", "--force"); code != cli.CodeGood && !strings.Contains(stderr, "there is no such run") {
		t.Errorf("rm --force: exit code %d, %s", code, stderr)
	}
	left := redistest.Contents(t, client)
	maps.DeleteFunc(left, func(key, _ string) bool { return strings.HasPrefix(key, run.KeysOf("x").Removed) }) // tells workers that the removal was meant
	if len(left) > 0 {
		t.Errorf("rm leaves %v", left)
	}
}

// dumped returns all data of a server, in its own form, and restore brings it back.
func dumped(t *testing.T, client rdb.Client) map[string]string {
	t.Helper()
	all := map[string]string{}
	for key := range redistest.Contents(t, client) {
		all[key] = client.Dump(t.Context(), key).Val()
	}
	return all
}

func restore(t *testing.T, client rdb.Client, all map[string]string) {
	t.Helper()
	client.FlushDB(t.Context())
	for key, text := range all {
		if err := client.Restore(t.Context(), key, 0, text).Err(); err != nil {
			t.Fatal(err)
		}
	}
}
