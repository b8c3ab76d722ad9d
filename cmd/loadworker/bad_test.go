package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/cli/clitest"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/redistest"
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

// mistake is a command line with an error, and the expected message.
type mistake struct {
	args []string // appended to a valid command line, if there is one; of two values the last counts, except for --url
	says string
}

// right is a command line without mistakes. Nobody listens at its URL.
func right() []string {
	return []string{"run", "--run", "x", "--url", "http://127.0.0.1:9/", "--qps", "10"}
}

// TestBadInput: an error in a command line is found before anything is written, and the message says what to do.
func TestBadInput(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	if _, _, err := run.Create(t.Context(), server.Client(), "there", specOf(t, "--qps", "1"), run.Options{}); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for kind, mistakes := range map[string][]mistake{
		"rates": badRates(), "names": badNames(), "numbers": badNumbers(), "profiles": badProfiles(), "durations": badDurations(), "URLs": badURLs(),
		"requests": badRequests(t), "authorizations": badAuth(t), "servers": badServers(t), "files": badFiles(t), "runs": badRuns(), "thresholds": badThresholds(), "queries": badQueries(),
	} {
		t.Run(kind, func(t *testing.T) {
			var all []clitest.Refusal
			for _, m := range mistakes {
				line := right()
				if slices.Contains(m.args, "--url") { // it may be given only once
					line = slices.DeleteFunc(line, func(s string) bool { return s == "--url" || strings.HasPrefix(s, "http://") })
				}
				all = append(all, clitest.Refusal{Args: append(line, m.args...), Says: []string{m.says}})
			}
			clitest.RefusedAll(t, newRootCommand, server.Client(), all)
		})
		rows += len(mistakes)
	}
	if rows < 60 {
		t.Errorf("only %d inputs", rows)
	}
}

func long() string { return strings.Repeat("x", 1<<20) }

func badNames() []mistake {
	const form = "use 1 to 64 letters, digits, dots, dashes and underscores"
	all := []mistake{
		{[]string{"--run", ""}, "--run: give the name of the run, the same on all workers"},
		{[]string{"--run", "x.loadctl"}, `run "x.loadctl": only files have names that end in .loadctl; take another name`},
	}
	for _, name := range []string{"a b", "{a}", "a/b", "a\nb", "ä", "*", ".", "-a", "a:b", "a\x00", "\x1b[31m", long()} {
		all = append(all, mistake{[]string{"--run=" + name}, form}, mistake{[]string{"--id=" + name}, form})
	}
	return all
}

func badNumbers() []mistake {
	return []mistake{
		{[]string{"--weight", "0"}, "--weight: give a number from 1"},
		{[]string{"--weight", "-1"}, "--weight: give a number from 1"},
		{[]string{"--weight", "1000001"}, "--weight: give a number from 1"},
		{[]string{"--weight", "heavy"}, `--weight "heavy": not a value of type int64; see loadworker run --help`},
		{[]string{"--max-qps", "9.9"}, "run x: the cluster is asked for 10/s, more than --max-qps 99/10s of this worker; nothing was sent"},
		{[]string{"--max-qps", "9.9/s"}, "run x: the cluster is asked for 10/s, more than --max-qps 99/10s of this worker; nothing was sent"},
		{[]string{"--max-qps", "10", "--stage", "10s:10.1"}, "the cluster is asked for 10.1/s, more than --max-qps 10 of this worker"},
		{[]string{"--max-qps", "0"}, "--max-qps: give a rate above 0, such as 2k, or leave it out"},
		{[]string{"--max-qps", ""}, `--max-qps: rate "": not a number of requests per second; write 500, 2.5k, 1M, 0.2 or 30/m; see loadworker run --help`},
		{[]string{"--max-qps", "-1"}, "--max-qps: rate \"-1\": a rate is not negative"},
		{[]string{"--max-qps", "many"}, "--max-qps: rate \"many\": not a number of requests per second"},
		{[]string{"--max-qps", "101M"}, "--max-qps: rate \"101M\": at most 100000000 requests per second"},
		{[]string{"--max-qps", long()}, "not a number of requests per second"},
		{[]string{"--min-workers", "-1"}, "--min-workers: give a number up to 100000; 0 means until loadctl start"},
		{[]string{"--min-workers", "100001"}, "--min-workers: give a number up to 100000"},
		{[]string{"--min-workers", "1.5"}, "--min-workers"},
		{[]string{"-c", "0"}, "--max-in-flight: give a number from 1"},
		{[]string{"-c", "-1"}, "--max-in-flight: give a number from 1"},
		{[]string{"--max-connections", "0"}, "--max-connections: give a number from 1"},
		{[]string{"--max-connections", "-5"}, "--max-connections: give a number from 1"},
		{[]string{"--max-connections", "99999999999999999999"}, "--max-connections"},
		{[]string{"--preconnect", "-1"}, "--preconnect: give a number up to 1000"},
		{[]string{"--preconnect", "1001"}, "--preconnect: give a number up to 1000, which is all that --max-connections and --max-in-flight allow; 0 means none"},
		{[]string{"--preconnect", "51", "-c", "50"}, "--preconnect: give a number up to 50"},
		{[]string{"--preconnect", "all"}, `--preconnect "all": not a value of type int`},
		{[]string{"--targets-pick", "random"}, "--targets-pick: there are no requests to mix; give --targets FILE or --workload FILE, or leave it out"},
		{[]string{"--targets-pick", "shuffle"}, "--targets-pick \"shuffle\": write one of cycle, random"},
		{[]string{"-n", "-1"}, "--requests: give the number of requests of the whole cluster; 0 means no limit"},
		{[]string{"-n", "many"}, "--requests"},
		{[]string{"-n", "4503599627370496"}, "--requests: give the number"},
		{[]string{"--redirects", "21"}, "redirects: must be 0 to 20"},
		{[]string{"--redirects", "-1"}, "redirects: must be 0 to 20"},
		{[]string{"--sample-body", "-1"}, "--sample-body: give 0 to 64KiB"},
		{[]string{"--sample-body", "64KiB", "--sample-body", "65537"}, "--sample-body: give 0 to 64KiB"},
		{[]string{"--body-limit", "-1"}, "body limit: must not be negative; 0 means"},
		{[]string{"-1"}, "-1: nothing here is negative"},
	}
}

func badRates() []mistake {
	const form = "not a number of requests per second; write 500, 2.5k, 1M, 0.2 or 30/m"
	all := []mistake{
		{[]string{"--qps", "10/0"}, `--qps: rate "10/0": write a time above zero after the slash, such as 30/m`},
		{[]string{"--qps", "10/-1s"}, `--qps: rate "10/-1s": write a time above zero after the slash`},
		{[]string{"--qps", "10/"}, "write a time above zero after the slash"},
		{[]string{"--qps", "10/5"}, "write a time above zero after the slash"},
		{[]string{"--qps", "max", "--stage", "10s:5"}, "--qps max and --stage: a ramp needs a rate to begin with, such as --qps 100; or leave --stage out"},
		{[]string{"--qps", "max", "--profile", "sine:mean=5,amplitude=1,period=1s"}, "--qps max and --profile: the profile is the rate, leave --qps out"},
		{[]string{"--qps", "max", "--arrivals", "poisson"}, "--qps max and --arrivals: a closed loop sends when an answer comes; leave --arrivals out, or give a rate"},
		{[]string{"--qps", "max", "-n", "5"}, "--qps max and --requests: without a rate nobody counts requests before they are sent; give --duration instead, or a rate"},
		{[]string{"--qps", "max", "--max-qps", "2k"}, "run x: it is a closed loop, without a rate, but this worker accepts at most 2000/s (--max-qps); " +
			"to join anyway, leave --max-qps out; nothing was sent"},
		{[]string{"--qps", "MAX"}, form + ", or max, as fast as it goes"},
		{[]string{"--qps", "-1"}, `--qps: rate "-1": a rate is not negative; write 500, 2.5k, 1M, 0.2 or 30/m`},
		{[]string{"--qps", "101M"}, `--qps: rate "101M": at most 100000000 requests per second`},
		{[]string{"--qps", "1/1ns"}, "at most 100000000 requests per second"},
		{[]string{"--qps", "0.0000001"}, `--qps: rate "0.0000001": too fine; use at most six decimals`},
		{[]string{"--qps", ""}, "--qps: give the rate of the whole cluster, such as --qps 500"},
		{[]string{"--qps", "0"}, "--qps: give the rate of the whole cluster"},
		{[]string{"--rate", "10"}, "--qps and --rate: both are the rate of the whole cluster, give one of them"},
		{[]string{"--qps", "", "--rate", "x"}, `--rate: rate "x": ` + form},
		{[]string{"--qps", "max", "--rate", "max"}, "--qps and --rate: both are the rate of the whole cluster, give one of them"},
		{[]string{"--qps", "", "--rate", "max", "-n", "5"}, "--qps max and --requests: "},
	}
	for _, rate := range []string{"NaN", "Inf", "+Inf", "1e30", "1e3", "100G", "0x10", "5 k", " 5", "5k5", "1.2.3", ".", "k", "+5", "١", "1,000", "5\n", "/1s", long()} {
		all = append(all, mistake{[]string{"--qps", rate}, form})
	}
	return all
}

// badThresholds are conditions that cannot be read, and conditions that no run of this description could decide.
func badThresholds() []mistake {
	const latency = "latency:p(99)<1s"
	return []mistake{
		{[]string{"--threshold", ""}, `--threshold: threshold "", column 1: name a metric`},
		{[]string{"--threshold", "latency:p(99)"}, `column 14: compare with <, <=, >, >=, == or !=`},
		{[]string{"--threshold", latency, "--threshold", "latency{step=pay}:p(99)<1"}, `there is no step "pay"; the run has one kind of request; leave {step=…} out`},
		{[]string{"--threshold", latency, "--threshold", "latency{stp=pay}:p(99)<1"}, "column 9: there is no tag stp; there are latency{step=NAME}"},
		{[]string{"--threshold", long()}, "column 1: it is longer than 200 bytes"},
		{[]string{"--threshold", latency + " over 11s", "--duration", "10s"}, "the run takes 10s, 0s of them warm-up; give a window that fits"},
		{[]string{"--threshold", latency + " over 6s", "--duration", "10s", "--warmup", "5s"}, "the run takes 10s, 5s of them warm-up; give a window that fits"},
		{[]string{"--warmup", "5s"}, "--warmup has no effect without --threshold: add one"},
		{[]string{"--threshold", latency, "--warmup", "1500ms"}, "--warmup: give whole seconds, such as 30s"},
		{[]string{"--threshold", latency, "--warmup", "10s", "--duration", "10s"}, "--warmup 10s: the run takes only 10s; give less"},
		{[]string{"--threshold", "service:p(99)<1s", "--warmup", "5s"}, "--warmup: service has no values over time, so no warm-up can be left out; remove one of the two"},
		{[]string{"--threshold", "dropped:count==0", "--qps", "max"}, "--qps max: without a rate nothing is due, so there is no dropped"},
		{[]string{"--threshold", "ttft:p(95)<1s"}, `--threshold "ttft:p(95)<1s": no answer has events; describe the run with --stream, such as --stream sse, or leave the condition out`},
		{[]string{"--threshold", "events:rate>1 over 5s abort after 2"}, "no answer has events; describe the run with --stream"},
		{[]string{"--stream", "sse", "--threshold", "tpot:avg<1s"}, "no answer has tokens; describe the run with --preset openai, or leave the condition out"},
		{[]string{"--stream", "sse", "--threshold", "goodput:rate>95% over 5s"}, "no answer has goals; describe the run with --goal, such as --goal 'first_event<500ms', or leave the condition out"},
		{[]string{"--threshold", latency + " over 5s reduce 20% after 2"}, "column 33: write reduce to 50% or reduce by 20%"},
		{[]string{"--threshold", latency + " over 5s reduce by 20% after 2", "--qps", "max"}, "--qps max: without a rate there is none to reduce; write abort after, or give a rate"},
		{[]string{"--threshold", latency + " over 5s reduce by 20% after 2 down to 1k/s", "--qps", "1k"}, "the run asks for at most 1000/s, so it would never be reduced; give a lower 'down to'"},
		{[]string{"--threshold", latency + " over 5s reduce by 20% after 2", "--threshold", "errors:rate<1% over 5s reduce by 20% after 2 restore after 60s"}, "one restores the rate and one keeps it down; give 'restore after' to both or to none"},
		{strings.Fields(strings.Repeat("--threshold "+latency+" ", 101)), "--threshold: give at most 100"},
	}
}

func badDurations() []mistake {
	const form = "is not a duration; write 30s, 5m, 1h30m or 2d"
	all := []mistake{
		{[]string{"--duration", "10us"}, "--duration: at least 1ms"},
		{[]string{"--duration", "9999d"}, "--duration: give a time up to"},
		{[]string{"--max-lag", "0"}, "--max-lag: give a time up to 1h, such as 1s"},
		{[]string{"--max-lag", "2h"}, "--max-lag: give a time up to 1h"},
		{[]string{"--pace-resolution", "10ms"}, "give auto, precise, economical or a time up to 5ms, such as 250us"},
		{[]string{"--pace-resolution", "often"}, "give auto, precise, economical or a time up to 5ms, such as 250us"},
		{[]string{"--arrivals", "random"}, "--arrivals \"random\": write one of even, poisson, poisson:SEED"},
		{[]string{"--arrivals", "poisson:0"}, "--arrivals \"poisson:0\": the seed is a whole number from 1 to 2147483646, such as poisson:42"},
		{[]string{"--arrivals", "poisson:1e3"}, "the seed is a whole number from 1 to 2147483646"},
		{[]string{"--arrivals", "poisson", "--limiter", "token-bucket"}, "--limiter and --arrivals: a limiter spaces requests itself; leave one of them out"},
		{[]string{"--catch-up", "2h"}, "--catch-up: give a time up to 1h"},
		{[]string{"--keep", "1s"}, "--keep: at least 1m"},
		{[]string{"--permit-for", "0"}, "--permit-for 0: give a time from 1s to 10m0s, or --on-redis-loss stop"},
		{[]string{"--permit-for", "999ms"}, "--permit-for: give a time from 1s to 10m0s, such as 10s"},
		{[]string{"--permit-for", "601s"}, "--permit-for: give a time from 1s to 10m0s"},
		{[]string{"--permit-for", "long"}, form},
		{[]string{"--permit-for", "10s", "--on-redis-loss", "stop"}, "--permit-for and --on-redis-loss stop: only permit has a length, leave --permit-for out"},
		{[]string{"--permit-for", "10s", "--on-redis-loss", "hold"}, "--permit-for and --on-redis-loss hold"},
		{[]string{"--on-redis-loss", "fire"}, `--on-redis-loss "fire": write one of permit, stop, hold`},
		{[]string{"--on-redis-loss", ""}, `--on-redis-loss "": write one of permit, stop, hold`},
		{[]string{"--deadman", "2999ms"}, "--deadman: give a time from 3s to 24h0m0s, such as 30s; 0 means never"},
		{[]string{"--deadman", "25h"}, "--deadman: give a time from"},
		{[]string{"--deadman", "-1s"}, form},
		{[]string{"--keep", "0"}, "--keep: at least 1m"},
		{[]string{"--keep", "-1h"}, form},
		{[]string{"--wait-budget", "10"}, form},
		{[]string{"--wait-budget", "-1s"}, form},
		{[]string{"--timeout", "-1s"}, form},
	}
	for _, d := range []string{"soon", "-1s", "10", "1e9s", "1d1d", "99999d", "", "1 s", long()} {
		all = append(all, mistake{[]string{"--duration", d}, "--duration: "}, mistake{[]string{"--timeout", d}, form})
	}
	return all
}

func badProfiles() []mistake {
	const ramp = "sine:mean=5,amplitude=1,period=1s"
	return []mistake{
		{[]string{"--stage", "30s"}, `stage "30s": write DURATION:RATE, such as 30s:200`},
		{[]string{"--stage", "-1s:5"}, `stage "-1s:5": the part before the colon is a duration, such as 30s`},
		{[]string{"--stage", "1s:x"}, `stage "1s:x": rate "x": not a number`},
		{[]string{"--stage", "1s:-1"}, "a rate is not negative"},
		{[]string{"--stage", "0s:5"}, "profile: it has no length; give a stage or a duration above zero"},
		{[]string{"--stage", "9999999h:5"}, "stage"},
		{[]string{"--stage", "1s:5", "--duration", "1m"}, "leave --duration out"},
		{[]string{"--stage", "1s:5", "--profile", ramp}, "--profile and --stage: give one of them"},
		{[]string{"--profile", ramp}, "--qps and --profile: the profile is the rate, leave --qps out"},
		{[]string{"--qps", "", "--profile", "zigzag"}, `profile "zigzag": unknown; write one of replay, sine, spike, steps`},
		{[]string{"--qps", "", "--profile", long()}, "unknown; write one of replay, sine, spike, steps"},
		{[]string{"--qps", "", "--profile", "sine:mean=5"}, "amplitude=RATE is missing"},
		{[]string{"--qps", "", "--profile", "sine:mean=5,mean=6"}, "settings are written name=value, each once"},
		{[]string{"--qps", "", "--profile", "sine:mean=5,amplitude=6,period=1s"}, "amplitude 6 is above the mean 5"},
		{[]string{"--qps", "", "--profile", "sine:mean=5,amplitude=1,period=1us"}, "give a duration of at least 1ms, such as 30s"},
		{[]string{"--qps", "", "--profile", ramp + ",phase=1"}, "phase is not a setting of this profile; leave it out"},
		{[]string{"--qps", "", "--profile", "steps:from=1,to=5,by=0,every=1s"}, "give a step above zero"},
		{[]string{"--qps", "", "--profile", "steps:from=1,to=1M,by=1,every=1s"}, "make them larger"},
	}
}

func badURLs() []mistake {
	const form = "write http://host[:port]/path"
	return []mistake{
		{[]string{"--url", ""}, "--url: give what to request, such as --url http://127.0.0.1:8080/"},
		{[]string{"--url", "127.0.0.1"}, "url: is not a URL; " + form},
		{[]string{"--url", "127.0.0.1:8080"}, "url: is not a URL; " + form},
		{[]string{"--url", "localhost:8080"}, "url: there is no target for scheme localhost; there is grpc, grpcs, http, https, noop, redis, rediss, tcp, udp, ws or wss"},
		{[]string{"--url", "//h/"}, "url: is not a URL; " + form},
		{[]string{"--url", "http://"}, "url: names no host; " + form},
		{[]string{"--url", "http:///path"}, "url: names no host; " + form},
		{[]string{"--url", "http:h"}, "url: names no host; " + form},
		{[]string{"--url", "http://:80/"}, "url: names no host; " + form},
		{[]string{"--url", "http://u:" + secret + "@"}, "url: names no host; " + form},
		{[]string{"--url", "http://u:" + secret + "%@h/"}, "url: is not a URL; " + form},
		{[]string{"--url", "http://h h/" + secret}, "url: is not a URL; " + form},
		{[]string{"--url", "http://h/\n" + secret}, "url: is not a URL; " + form},
		{[]string{"--url", "ftp://h/"}, "url: there is no target for scheme ftp; there is grpc, grpcs, http, https, noop, redis, rediss, tcp, udp, ws or wss"},
		{[]string{"--url", "http://ä/"}, "url: the host is not ASCII; write an international name in its xn-- form"},
		{[]string{"--url", "http://h:99999/"}, "url: the port must be 1 to 65535"},
		{[]string{"--url", "http://h:0/"}, "url: the port must be 1 to 65535"},
		{[]string{"--url", "http://h:-1/"}, "url: is not a URL; " + form},
		{[]string{"--url", "http://h:http/"}, "url: is not a URL; " + form},
		{[]string{"--url", "http://[::1"}, "url: is not a URL; " + form},
		{[]string{"--url", "http://" + long() + ":0/"}, "url: the port must be 1 to 65535"},
		{[]string{"--url", "noop://?latency=soon"}, "write noop://?latency=1ms"},
		{[]string{"--url", "noop://?delay=1s"}, "noop takes only latency; write noop://?latency=1ms"},
	}
}

func badRequests(t *testing.T) []mistake {
	missing := filepath.Join(t.TempDir(), "missing")
	const path = "give the path of a file that can be read"
	return []mistake{
		{[]string{"-H", secret}, `--header: parse header: there is no colon; write "Name: value"`},
		{[]string{"-H", "A B: " + secret}, "--header"},
		{[]string{"-H", "A: " + secret + "\nB: c"}, "--header: parse header: header A: the value holds a line break or control character; remove it"},
		{[]string{"-H", "Content-Length: 5"}, "header Content-Length: follows from the body; leave it out"},
		{[]string{"-H", "@" + missing}, "no such file or directory; " + path},
		{[]string{"-H", "@" + file(t, "A: b\n\n"+secret+"\n")}, "--header: parse header: there is no colon"},
		{[]string{"-d", "@" + missing}, "--body: read body: open " + missing + ": no such file or directory; " + path},
		{[]string{"-d", "@"}, `--body: read body: there is no file name after "@"`},
		{[]string{"-D", missing}, "--body-file: read body: open " + missing + ": no such file or directory; " + path},
		{[]string{"-D", missing, "-d", secret}, "--body and --body-file: give one of them"},
		{[]string{"-m", "A B"}, "method: may only hold letters"},
		{[]string{"-m", "CONNECT"}, "method: CONNECT makes a tunnel and not a request; choose another"},
		{[]string{"--cacert", missing}, "--cacert: open " + missing + ": no such file or directory; " + path},
		{[]string{"--cacert", t.TempDir()}, "is a directory; " + path},
		{[]string{"--cacert", file(t, secret)}, "ca: holds no PEM certificate; give"},
		{[]string{"-k", "--cacert", file(t, secret)}, "ca: contradicts insecure; leave one of them out"},
		{[]string{"--cert", missing}, "client certificate: give both the certificate and the key"},
		{[]string{"--key", missing}, "client certificate: give both the certificate and the key"},
		{[]string{"--url", "https://h/", "--cert", missing, "--key", missing}, "no such file or directory; give PEM files"},
		{[]string{"--url", "https://h/", "--cert", file(t, secret), "--key", file(t, secret)}, "give PEM files"},
		{[]string{"--laddr", ""}, `--laddr "": give an IP address of this machine, such as 10.0.0.5`},
		{[]string{"--laddr", "eth0"}, `--laddr "eth0": give an IP address of this machine`},
		{[]string{"--laddr", "127.0.0.1:80"}, `--laddr "127.0.0.1:80": give an IP address`},
		{[]string{"--laddr", "127.0.0.1,127.0.0.2"}, `--laddr "127.0.0.1,127.0.0.2": give one IP address, and repeat the flag for more than one`},
		{[]string{"--laddr", "255.255.255.255"}, `--laddr "255.255.255.255": give an IP address of this machine`},
		{[]string{"--laddr", "127.255.255.255"}, `--laddr "127.255.255.255": give an IP address of this machine`},
		{[]string{"--laddr", "127.0.0.1", "--url", "noop://"}, "--laddr: noop:// opens no connections; leave it out"},
		{[]string{"--preconnect", "5", "--url", "noop://"}, "--preconnect: noop:// opens no connections; leave it out"},
		{[]string{"--preconnect", "5", "--no-keep-alive"}, "--preconnect and --no-keep-alive: each request opens a connection of its own; leave one of them out"},
		{[]string{"--laddr", "0.0.0.0"}, `--laddr "0.0.0.0": give an IP address`},
		{[]string{"--laddr", "224.0.0.1"}, `--laddr "224.0.0.1": give an IP address`},
		{[]string{"--laddr", long()}, "give an IP address"},
		{[]string{"--laddr", "127.0.0.1", "--laddr", "::ffff:127.0.0.1"}, "--laddr 127.0.0.1: is given twice; leave one out"},
		{[]string{"--laddr", "::1"}, "--laddr: 127.0.0.1 has only IPv4 addresses; give an IPv4 address of this machine too"},
		{[]string{"--laddr", "127.0.0.1", "--laddr", "192.0.2.1"}, "--laddr: connect from 192.0.2.1: cannot assign requested address; give an address of this machine"},
		{[]string{"--laddr", "127.0.0.1", "--unix-socket", "/s"}, "--laddr: a Unix socket has no addresses; leave it out"},
		{[]string{"--connect-to", "a:b"}, `connect-to "a:b": must have four parts; write HOST1:PORT1:HOST2:PORT2`},
		{[]string{"--connect-to", ":::0"}, "a port must be 1 to 65535; write HOST1:PORT1:HOST2:PORT2"},
		{[]string{"--connect-to", ":::", "--unix-socket", "/s"}, "unix socket: contradicts connect-to; leave one of them out"},
		{[]string{"--expect", "99"}, `expect: "99" is not a status or range of statuses; write 200,204,300-399`},
		{[]string{"--expect", "300-200"}, "write 200,204,300-399"},
	}
}

// badAuth are settings that cannot be read, and secrets that are not there: nothing is sent, and nobody joins.
func badAuth(t *testing.T) []mistake {
	missing := filepath.Join(t.TempDir(), "missing")
	closed := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	client := "oauth2:token_url=http://" + closed + "/,client_id=c,client_secret=@"
	const signed = "sigv4:region=r,service=s3,access_key=ID,secret_key=@"
	var all []mistake
	for _, m := range [][2]string{
		{"", "--auth: names no kind; write basic:USER:PASSWORD"},
		{secret, "--auth: names no kind"},
		{"digest:" + secret, "--auth: there is no such kind"},
		{"basic:" + secret, "--auth: there is no password; write basic:USER:PASSWORD or basic:@FILE"},
		{"basic:u:" + secret + "\n", "--auth: holds a line break"},
		{"basic:u:" + long(), "--auth: is longer than 4096 bytes"},
		{"bearer:" + secret, "--auth: give the place of the secret, not the secret itself"},
		{"bearer:@", "--auth: after @ comes the path of a file"},
		{"bearer:@env:A-B", "--auth: after @env: comes the name of a variable"},
		{"bearer:@env:NO_SUCH_VARIABLE", "--auth: @env:NO_SUCH_VARIABLE: the variable is not set on this machine, or is empty; set it for each worker; nothing was sent"},
		{"bearer:@" + missing, "--auth: open " + missing + ": no such file or directory; the file must lie on each worker's machine; nothing was sent"},
		{"bearer:@" + file(t, "Bearer "+secret), "a token has no spaces and no control characters; give it alone, without Bearer; nothing was sent"},
		{"bearer:@" + file(t, secret+"\x1b[31m"), "holds a line break or a control character; give the secret alone; nothing was sent"},
		{"bearer:@" + file(t, ""), "the file is empty; put the secret there; nothing was sent"},
		{"basic:@" + file(t, secret), "there is no password; it must hold USER:PASSWORD; nothing was sent"},
		{client, "--auth: oauth2: client_secret: after @ comes the path"},
		{strings.TrimSuffix(client, "@") + secret, "--auth: oauth2: client_secret: give the place of the secret, not the secret itself"},
		{client + missing, "--auth: client_secret: open " + missing + ": no such file or directory"},
		{client + "s,secret=" + secret, "--auth: oauth2: there is no such setting"},
		{client + "s,scope", "--auth: oauth2: each setting is written name=value"},
		{"oauth2:client_id=c", "--auth: oauth2: token_url is missing"},
		{signed, "--auth: sigv4: secret_key: after @ comes the path"},
		{strings.TrimSuffix(signed, "@") + secret, "--auth: sigv4: secret_key: give the place of the secret, not the secret itself; write @FILE or @env:NAME"},
		{signed + missing, "--auth: secret_key: open " + missing + ": no such file or directory; the file must lie on each worker's machine; nothing was sent"},
		{signed + file(t, secret+" x"), "--auth: secret_key: a key is visible ASCII without spaces; give it alone; nothing was sent"},
		{signed + "s,session_token=" + secret, "--auth: sigv4: session_token: give the place of the secret"},
		{signed + "s,secret=" + secret, "--auth: sigv4: there is no such setting; use region, service, access_key, secret_key, session_token"},
		{"sigv4:region=r,service=s3,secret_key=@s", "--auth: sigv4: access_key is missing"},
		{client + file(t, secret), "--auth: get a token from " + closed + ": dial tcp " + closed + ": connect: connection refused; check token_url; nothing was sent"},
	} {
		all = append(all, mistake{[]string{"--auth=" + m[0]}, m[1]})
	}
	const unused = "auth: no request uses it, because a header Authorization, or user and password in the URL, wins; leave one of them out"
	return append(all,
		mistake{[]string{"--auth", "bearer:@f", "-H", "authorization: " + secret}, unused},
		mistake{[]string{"--auth", "bearer:@f", "--url", "http://u:" + secret + "@h/"}, unused},
		mistake{[]string{"--auth", "bearer:@f", "--url", "noop://"}, unused},
		mistake{[]string{"--auth", signed + "f", "-H", "authorization: " + secret}, unused},
		mistake{[]string{"--auth", signed + "f", "-H", "X-Amz-Date: " + secret}, "header X-Amz-Date: is part of the signature (auth sigv4); leave it out"},
		mistake{[]string{"--auth", signed + "f", "--url", "http://127.0.0.1:9/?p[1]=a&p[10]=b"}, "auth: sigv4: names or values of the query sort differently once they are escaped"},
		mistake{[]string{"--auth", client + "s", "--allow-hosts", "127.0.0.1:9"}, "the run gets tokens from " + closed + " (--auth), which --allow-hosts does not allow"},
	)
}

func badServers(t *testing.T) []mistake {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	closed := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	const form = "not of the form redis://[user:password@]host:port"
	const number = "the port is a number up to 65535, such as embedded:6380; 0 takes a free one"
	on := func(redis, says string, more ...string) mistake { return mistake{append(more, "--redis", redis), says} }
	return []mistake{
		on("redis://:"+secret+"@"+closed, "reach Redis at "+closed+": dial tcp "+closed+": connect: connection refused; check --redis or LOADCTL_REDIS"),
		on("redis://:12/"+secret+"@"+closed, "write / ? # @ % in a password as %2F"),
		on("http://"+closed, form),
		on("nonsense", form),
		on(closed, form),
		on(long(), form),
		on("redis://:"+secret+"@"+closed+"/db", "write redis://[user:password@]host:port[/db]"),
		on("@"+file(t, secret)+"x", "no such file or directory; write the path of a file with the URL after the @"),
		on("@"+t.TempDir(), "is a directory; write the path of a file with the URL after the @"),
		on("@"+file(t, secret), form),
		on("@"+file(t, ""), form),
		on("@", "write the path of a file with the URL after the @"),
		on("unix:///no/such/socket", "no such file or directory; check --redis"),
		on("embedded:notaport", number),
		on("embedded:99999", number),
		on("embedded:-1", number),
		on("embedded:", number),
		on("embedded:"+port, "address already in use; give another port (embedded:0 takes a free one)", "--url", "noop://"),
	}
}

func badFiles(t *testing.T) []mistake {
	const dir = "give a file in a directory that is there and can be written to"
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink(t.TempDir(), loop); err != nil {
		t.Fatal(err)
	}
	existing := filepath.Join(t.TempDir(), "there.csv")
	if err := os.WriteFile(existing, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return []mistake{
		{[]string{"--out", filepath.Join(t.TempDir(), "no", "such")}, "no such file or directory; " + dir},
		{[]string{"--out", t.TempDir()}, "is no regular file; give the path of one"},
		{[]string{"--out", loop}, "is no regular file; give the path of one"},
		{[]string{"--out", filepath.Join(file(t, ""), "below")}, "not a directory; " + dir},
		{[]string{"--out", long()}, "file name too long; " + dir},
		{[]string{"--log", ""}, `--log "": has no ending that is known; give a name that ends with .jsonl, .csv, .jsonl.zst or .csv.zst`},
		{[]string{"--log", "requests.txt"}, `--log "requests.txt": has no ending that is known`},
		{[]string{"--log", t.TempDir()}, "has no ending that is known"},
		{[]string{"--log", existing}, "is there already; give the path of a new file, or remove it"},
		{[]string{"--log", filepath.Join(existing, "below.csv")}, "not a directory; give a new file in a directory that is there and can be written to"},
		{[]string{"--log", filepath.Join(t.TempDir(), "no", "such.csv")}, "no such file or directory; give a new file"},
		{[]string{"--log", long() + ".csv"}, "file name too long; give a new file"},
		{[]string{"-o", "xml"}, `--output "xml": there are text`},
		{[]string{"-o", ""}, `--output "": there are text`},
		{[]string{"-o", long()}, "there are text"},
	}
}

// badRuns are valid flags that do not fit together.
func badRuns() []mistake {
	return []mistake{
		{[]string{"--allow-hosts", "http://127.0.0.1/"}, "--allow-hosts"},
		{[]string{"--allow-hosts", "127.0.0.2,127.0.0.1:8"}, "the run sends to 127.0.0.1:9, which --allow-hosts does not allow; nothing was sent. To allow it, add it to --allow-hosts"},
		{[]string{"--allow-hosts", "*.example.com"}, "write HOST, HOST:PORT or unix:/path, not a URL or a pattern"},
		{[]string{"--url", "http://127.0.0.1:9/", "--url", "http://127.0.0.1:8/"}, "--url: is given twice, and a run has one; leave one out, or make a run of each"},
		{[]string{"--workload", "a.yaml", "--workload", "b.yaml"}, "--workload: is given twice, and a run has one; leave one out, or make a run of each"},
		{[]string{"--targets", "a.txt", "--targets", "b.txt"}, "--targets: is given twice, and a run has one; leave one out, or make a run of each"},
		{[]string{"--nonsense"}, "unknown flag: --nonsense; see loadworker run --help"},
		{[]string{"--max-conections", "5"}, "unknown flag: --max-conections; did you mean --max-connections? Or see loadworker run --help"},
		{[]string{"-qps", "5"}, "did you mean --qps? Or see loadworker run --help"},
		{[]string{"--run", "there", "--no-check", "--url", "http://127.0.0.1/", "--qps", "1", "--on-redis-loss", "stop"}, "run there exists with another spec (on-redis-loss: permit there, stop here)"},
		{[]string{"--run", "there", "--no-check", "--url", "http://127.0.0.1/", "--qps", "1", "--permit-for", "5s"}, "run there exists with another spec (permit-for: 10s there, 5s here)"},
		{[]string{"--run", "there", "--no-check", "--url", "http://127.0.0.1/", "--qps", "1", "--deadman", "30s"}, "run there exists with another spec (deadman: 0s there, 30s here)"},
		{[]string{"nonsense"}, `run: takes no arguments, "nonsense" is one too many; usage: loadworker run [flags]`},
		{[]string{"--run"}, "flag needs an argument: --run; see loadworker run --help"},
		{[]string{"--new=perhaps"}, `--new "perhaps": not a value of type bool; see loadworker run --help`},
		{[]string{"--run", "there", "--new", "--url", "noop://"}, "run there exists with another spec (qps: 1 there, 10 here; url: http://127.0.0.1/ there, noop:// here); take another name, or --new once it has ended"},
	}
}

// TestBadCommands: nothing in these command lines is valid.
func TestBadCommands(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	var all []clitest.Refusal
	for _, m := range []mistake{
		{[]string{"nonsense"}, `unknown command "nonsense" for "loadworker"; see loadworker --help`},
		{[]string{"rum"}, `unknown command "rum" for "loadworker"; did you mean run? Or see loadworker --help`},
		{[]string{"--nonsense"}, "unknown flag"},
		{[]string{"help", "nonsense"}, "help: there is no command"},
		{[]string{"man"}, "man: give a directory; usage: loadworker man DIR"},
		{[]string{"man", file(t, "")}, "not a directory; give a directory that can be written to"},
		{[]string{"version", "x"}, "version: takes no arguments"},
		{[]string{"run"}, "--run: give the name"},
		{[]string{"run", "--run", "x"}, "give the hosts it may send to with --allow-hosts HOST,… or --allow-any"},
		{[]string{"run", "--run", "x", "--allow-any", "--wait-budget", "1m"}, "--wait-budget: only who creates a run waits for room; describe the run with --url and --qps"},
		{[]string{"run", "--run", "x", "--allow-any"}, "run x: there is no such run; describe it with --url and --qps, or --wait for it"},
		{[]string{"run", "--run", "x", "--allow-any", "--new"}, "--new: describe the new run"},
		{[]string{"run", "--run", "x", "--qps", "5"}, "--url: give what to request"},
		{[]string{"run", "--run", "x", "--limiter", "gcra"}, "or leave --limiter out to join a run by its name: it describes the run, as --url and --qps do"},
		{[]string{"run", "--run", "x", "--redis", "embedded", "--allow-any"}, "--redis: to join a run, give the Redis that holds it"},
	} {
		all = append(all, clitest.Refusal{Args: m.args, Says: []string{m.says}})
	}
	clitest.RefusedAll(t, newRootCommand, server.Client(), all)
	t.Setenv("LOADCTL_REDIS", "")
	refused(t, []string{"run", "--run", "x", "--allow-any"}, "--redis: to join a run, give the Redis that holds it; to run on this machine alone")
	closed := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	t.Setenv("LOADCTL_REDIS", "redis://:"+secret+"@"+closed)
	refused(t, append(right(), "--redis", ""), "reach Redis at "+closed)
	t.Setenv("LOADCTL_REDIS", secret)
	refused(t, right(), "read the Redis URL: it is not of the form")
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
