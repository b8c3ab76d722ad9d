package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
)

// steering is what an attacker may have put into Redis: titles, CSI in two forms, line breaks, NUL, DEL, overrides, and
// bytes that are not UTF-8.
const steering = "w\x1b]0;owned\a\x1b[2J\u009b31m\r\nFAKE\tline\b\x00\x7f\u202e\u200b\x9b\xff"

// unsteered checks the output of a command: no control character but \n and \t, and only lines of ours.
func unsteered(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s: no UTF-8: %.500q", what, text)
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			t.Errorf("%s: %U leaves: %.1000q", what, r, text)
			break
		}
	}
	if strings.Contains(text, "\nFAKE") || strings.Contains(text, "FAKE\t") {
		t.Errorf("%s: a line or column of somebody else's: %.1000q", what, text)
	}
}

// TestTerminalEscapesAreFiltered: whatever is in Redis, no command lets it control a terminal, in any format.
func TestTerminalEscapesAreFiltered(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	for _, name := range []string{"members", "plan", "limit", "spec"} {
		b.worker(name, "--url", b.web.URL(), "--qps", "50", "--duration", "1s").wait(0)
	}
	b.loadctl("create", "going", "--url", b.web.URL(), "--qps", "50", "--min-workers", "1")
	w := b.guest("going")
	b.members("going", 1)
	w.signal(syscall.SIGKILL)
	<-w.Exited
	for _, name := range []string{"members", "going"} {
		b.spoil(name)
	}
	client, ctx := b.redis.Client(), t.Context()
	client.HSet(ctx, run.KeysOf("plan").Budget, "commands", steering)
	client.HSet(ctx, run.KeysOf("limit").Budget, "limit", steering)
	spec := client.Get(ctx, run.KeysOf("spec").Spec).Val()
	quoted, err := json.Marshal(steering)
	if err != nil {
		t.Fatal(err)
	}
	client.Set(ctx, run.KeysOf("spec").Spec, strings.Replace(spec, `"max_lag_ns"`, `"limiter":`+string(quoted)+`,"max_lag_ns"`, 1), 0)
	b.rehearse(t)
}

// spoil writes into all keys of a run whose content a reader shows.
func (b *bed) spoil(name string) {
	b.t.Helper()
	client, ctx, keys := b.redis.Client(), b.t.Context(), run.KeysOf(name)
	for member, note := range client.HGetAll(ctx, keys.Workers).Val() {
		fields, _, _, err := lua.Holding(note)
		if err != nil {
			b.t.Fatal(err)
		}
		inc := fields["inc"]
		spoiled := steering + inc
		client.HSet(ctx, keys.Workers, "x"+steering, strings.TrimSuffix(note, inc)+spoiled)
		text, err := client.HGet(ctx, keys.Totals, member+"/"+inc).Result()
		if err != nil {
			continue // it was killed before its first snapshot
		}
		var total record.Snapshot
		if err := total.UnmarshalBinary([]byte(text)); err != nil {
			b.t.Fatal(err)
		}
		total.Errors[strings.ToValidUTF8(steering, "")] = &record.ErrorClass{Count: 1, Latency: record.NewHistogram()}
		data, err := total.MarshalBinary()
		if err != nil {
			b.t.Fatal(err)
		}
		client.HSet(ctx, keys.Totals, "x"+steering+"/"+spoiled, data)
		client.HSet(ctx, keys.Series, "x"+steering+"/"+spoiled, client.HGet(ctx, keys.Series, member+"/"+inc).Val())
		client.HSet(ctx, keys.Series, ":1:0:e:"+url.QueryEscape(strings.ToValidUTF8(steering, "")), "\x01\x00\x00\x00\x00")
	}
	now := strconv.FormatInt(time.Now().UnixMicro(), 10)
	for _, event := range [][]string{{"t", now, "kind", steering, "who", steering, "what", steering}} {
		if err := client.XAdd(ctx, &redis.XAddArgs{Stream: keys.Events, Values: event}).Err(); err != nil {
			b.t.Fatal(err)
		}
	}
	client.XAdd(ctx, &redis.XAddArgs{Stream: keys.Snapshots, Values: []string{"w", steering, "s", steering}})
	client.ZAdd(ctx, "load:runs", redis.Z{Score: 1, Member: steering}, redis.Z{Score: 2, Member: name})
}

// rehearse runs every command that reads, on each run and in each format, and checks all output.
func (b *bed) rehearse(t *testing.T) {
	t.Helper()
	var commands [][]string
	add := func(formats string, words ...string) {
		for format := range strings.FieldsSeq(formats) {
			commands = append(commands, append(slices.Clip(words), "-o", format))
		}
	}
	given := strings.ReplaceAll(steering, "\x00", "") // an argument cannot contain NUL
	add("text json", "ls")
	for _, name := range []string{"members", "plan", "limit", "spec", "going"} {
		for _, words := range []string{"status", "workers", "events"} {
			add("text json", words, name)
		}
		add(strings.Join(render.Formats(), " "), "report", name)
		commands = append(commands, []string{"__complete", "status", ""})
		if name == "members" || name == "limit" { // other commands may not end
			add("text json", "watch", name)
		}
		add("text json", "set-rate", name, "60")
		add("text json", "workers", "rm", name, "x"+given)
	}
	add("text json", "doctor")
	add("text json", "stop", "going")
	commands = append(commands, []string{"run", "spec", "--url", "http://127.0.0.1:1/", "--qps", "1"}, []string{"rm", "spec"}, []string{"rm", given})
	silent := 0
	for _, args := range commands {
		out, stderr, code := b.try(args...)
		what := fmt.Sprintf("loadctl %.60q", args)
		unsteered(t, what, out)
		unsteered(t, what+", stderr", stderr)
		if args[len(args)-1] == "json" && code == 0 && !json.Valid([]byte(out)) {
			t.Errorf("%s: no JSON: %.300q", what, out)
		}
		if out == "" {
			silent++
		}
		t.Logf("%s: %d, %.150q %.150q", what, code, out, stderr)
	}
	if silent > len(commands)/2 {
		t.Errorf("%d of %d commands showed nothing", silent, len(commands))
	}
	for _, name := range []string{"members", "plan", "limit", "spec"} {
		join := exec.Command(filepath.Join(binaries, "loadworker"), "run", "--run", name, "--allow-any", "--redis", b.url())
		text, _ := join.CombinedOutput() // some of these runs cannot be joined
		unsteered(t, "loadworker run --run "+name, string(text))
	}
}
