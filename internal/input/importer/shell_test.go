package importer

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// lines returns the words of commands, one command a line.
func texts(all [][]word) string {
	var b strings.Builder
	for _, words := range all {
		for _, w := range words {
			fmt.Fprintf(&b, "<%s>", w.text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestSplit(t *testing.T) {
	for text, want := range map[string]string{
		"a b\tc":                    "<a><b><c>\n",
		"a;b&c&&d\n\ne":             "<a>\n<b>\n<c>\n<d>\n<e>\n",
		"a \\\n b\\\nc":             "<a><bc>\n",
		`'a b'"c d"\ e`:             "<a bc d e>\n",
		`"" ''`:                     "<><>\n",
		`"a\"b\\c\d\$e"`:            "<a\"b\\c\\d$e>\n",
		"a # b\nc#d":                "<a>\n<c#d>\n",
		`$'\'\n\x41\102\u00e9\e\z'`: "<'\nAB\u00e9\x1b\\z>\n",
		`a$ "b$" $"c"`:              "<a$><b$><c>\n",
		"'a\nb' c":                  "<a\nb><c>\n",
		"ä='ö'":                     "<ä=ö>\n",
		"":                          "",
		"# nothing":                 "",
	} {
		all, err := split(text)
		if got := texts(all); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

// FuzzSplit: whatever the text is, it is split as bash does it, or refused.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"curl 'a' \\\n -H \"b\\\"c\"", `$'\u0021\x41' "$" $"x"`, "a;b&c #d", `\`, `"`, "'", "$'", "`a`", "a\\\r\nb", "$'\\0'", "é\\é", "${a}", "{a,b}", "a=b c", "~", "!!", "*?"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := split(text)
		if e, ok := errors.AsType[errAt](err); err != nil && (!ok || e.line < 1 || e.line > 1+strings.Count(text, "\n") || strings.Contains(err.Error(), "\n")) {
			t.Fatalf("%q: %v", text, err)
		}
		size := 0
		for _, words := range all {
			if len(words) == 0 {
				t.Fatalf("%q: a command without words", text)
			}
			for _, w := range words {
				size += len(w.text)
				if w.line < 1 || w.line > 1+strings.Count(text, "\n") {
					t.Fatalf("%q: line %d", text, w.line)
				}
			}
		}
		if size > len(text) {
			t.Fatalf("%q: became longer: %d bytes", text, size)
		}
		if _, err := Workload(strings.NewReader("curl http://a/ "+text), Options{Name: "t", Format: Curl}); err != nil && strings.Contains(err.Error(), "the workload made of it") {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

// TestSplitAsBash: bash splits the same.
func TestSplitAsBash(t *testing.T) {
	for _, text := range []string{`'a b'"c d"\ e`, `"a\"b\\c\d\$e" '' ""`, `$'\'\n\x41\102\u00e9\z\x4g'`, "a \\\n b\\\nc", `a$ "b$"`, "'a\nb' c#d # e", `"a\` + "\n" + `b"`, `$'a'b'c'`} {
		bash := exec.Command("bash", "-c", `printf '<%s>' `+text)
		bash.Env = append(os.Environ(), "LC_ALL=C.UTF-8") // it reads the text before it could set that itself
		out, err := bash.Output()
		all, err2 := split(text)
		if got := texts(all); err != nil || err2 != nil || strings.TrimSuffix(got, "\n") != string(out) {
			t.Errorf("%q: %q, bash %q, %v %v", text, got, out, err, err2)
		}
	}
}
