package lua_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/lua"
)

// scripts returns the scripts that run. The other files are included in them.
func scripts() []string {
	return append([]string{"make", "renew", "order", "remove", "right", "ask", "budget", "grant", "snapshot", "value", "samples", "set_limit", "give_back", "all"}, limiters()...)
}

// limiters returns the scripts that come before take.lua.
func limiters() []string {
	return []string{"fixed_window", "sliding_log", "sliding_list", "sliding_window", "leaky_bucket", "token_bucket", "gcra"}
}

// texts returns the scripts as they run: each limiter is followed by what calls it.
func texts() []string {
	all := slices.DeleteFunc(scripts(), func(name string) bool { return name == "grant" || name == "give_back" || name == "all" })
	for _, limiter := range limiters() {
		all = append(all, "grant/"+limiter, "give_back/"+limiter, "all/gcra,"+limiter)
	}
	return all
}

// source returns a file unchanged.
func source(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name + ".lua")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// header returns the comment at the top of a file, and the body after it.
func header(text string) (header, body string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			break
		}
		header += line
	}
	return header, text[len(header):]
}

func TestEveryFileIsKnown(t *testing.T) {
	files, err := filepath.Glob("*.lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".lua")
		if !slices.Contains(append(scripts(), "struct", "check", "identity", "ledger", "schedule", "arrivals", "limiter", "bucket", "take", "state", "ranges", "laws", "shares", "fleet", "load", "calls", "lawful"), name) {
			t.Errorf("%s is neither a script nor an include: add it here", file)
		}
		if head, _ := header(source(t, name)); !strings.HasPrefix(head, "-- "+name+": ") {
			t.Errorf("%s does not begin with its purpose", file)
		}
	}
}

// TestHeaders: each script's header lists its arguments and replies, and the script takes no others.
func TestHeaders(t *testing.T) {
	for _, name := range scripts() {
		head, body := header(source(t, name))
		for _, part := range []string{"-- " + name + ": ", "\n-- KEYS  1 ", "\n-- ARGV  1 ", "\n-- Returns ", "\n-- Invariant: "} {
			if !strings.Contains(head, part) {
				t.Errorf("%s: the header has no %q", name, strings.TrimSpace(part))
			}
		}
		_, rest, _ := strings.Cut(head, "-- KEYS")
		keys, rest, _ := strings.Cut(rest, "-- ARGV")
		args, _, _ := strings.Cut(rest, "-- Returns")
		for what, said := range map[string]string{"KEYS": keys, "ARGV": args} {
			for _, m := range regexp.MustCompile(what+`\[(\d+)\]`).FindAllStringSubmatch(body, -1) {
				if !regexp.MustCompile(`(^|\s)` + m[1] + ` \w`).MatchString(said) {
					t.Errorf("%s uses %s, of which its header says nothing", name, m[0])
				}
			}
		}
	}
}

// TestNumbersKeepTheirDigits: scripts do not use operations that cut a number to 14 digits.
func TestNumbersKeepTheirDigits(t *testing.T) {
	for _, name := range texts() {
		for line := range strings.Lines(lua.Text(name)) {
			code, _, _ := strings.Cut(line, "--")
			for _, bad := range []string{"tostring(", "cjson.encode", "%g", "replicate_commands", "math.random"} {
				if strings.Contains(code, bad) && !strings.Contains(code, "string.find") && !strings.Contains(code, "string.match") {
					t.Errorf("%s: %s", name, strings.TrimSpace(line))
				}
			}
		}
	}
}

// TestOneClockReading: each script reads TIME at most once, because before Redis 7.2 it advances inside a script.
func TestOneClockReading(t *testing.T) {
	for _, name := range texts() {
		want := 1
		if name == "snapshot" || name == "value" || name == "samples" || name == "set_limit" || strings.HasPrefix(name, "give_back/") {
			want = 0
		}
		if n := strings.Count(lua.Text(name), "'TIME'"); n != want {
			t.Errorf("%s reads the clock %d times, want %d", name, n, want)
		}
	}
}

// TestKeysComeFromKEYS: a key made up inside a script fails on a cluster. So the key of each call is one of KEYS or a
// member of the table that holds them. A function may also use a parameter that gets such a member everywhere.
func TestKeysComeFromKEYS(t *testing.T) {
	call := regexp.MustCompile(`redis\.p?call\(([^,)]*)(?:, (unpack\(\w+\)|[^,)]*))?`)
	given := regexp.MustCompile(`^(KEYS\[(\d+|i|i \+ 1)\]|keys\.\w+|unpack\(KEYS\))$`)
	for _, name := range texts() {
		text := lua.Text(name)
		taking := map[string]bool{}
		for _, m := range regexp.MustCompile(`function (\w+)\(key[,)]`).FindAllStringSubmatch(text, -1) {
			taking[m[1]] = true
			calls := regexp.MustCompile(`[^\w.]`+m[1]+`\(([^,)]*)`).FindAllStringSubmatch(text, -1)
			for _, c := range calls {
				if c[1] != "key" && !given.MatchString(c[1]) {
					t.Errorf("%s: %s(%s): not one of KEYS", name, m[1], c[1])
				}
			}
		}
		for _, m := range call.FindAllStringSubmatch(text, -1) {
			switch {
			case m[1] == "'TIME'" || m[1] == "'INFO'" || m[1] == "'PUBLISH'": // these take no key; a channel is none
			case !regexp.MustCompile(`^'[A-Z]+'$`).MatchString(m[1]):
				t.Errorf("%s: %s: which command?", name, m[0])
			case m[2] == "key" && (len(taking) > 0 || strings.Contains(text, "for _, key in pairs(keys)")):
			case !given.MatchString(m[2]):
				t.Errorf("%s: %s: not one of KEYS", name, m[0])
			}
		}
		for _, m := range regexp.MustCompile(`\bkeys = \{([^}]*)\}`).FindAllStringSubmatch(text, -1) {
			for i, entry := range strings.Split(m[1], ",") {
				if !strings.HasSuffix(strings.TrimSpace(entry), " = KEYS["+strconv.Itoa(i+1)+"]") {
					t.Errorf("%s: keys has %s", name, entry)
				}
			}
		}
	}
}
