package page

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// TestVendoredFiles: uPlot equals the npm package, byte by byte, and its licence is there. `make web` fetches it.
func TestVendoredFiles(t *testing.T) {
	want := map[string]string{
		"uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"uPlot.min.css":     "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
		"LICENSE":           "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
	}
	all, err := fs.ReadDir(files, "uplot")
	if err != nil || len(all) != len(want) {
		t.Errorf("%d files, want %d: %v", len(all), len(want), err)
	}
	for name, sum := range want {
		text, err := fs.ReadFile(files, "uplot/"+name)
		if got := fmt.Sprintf("%x", sha256.Sum256(text)); err != nil || got != sum {
			t.Errorf("%s has the hash %s, want %s: %v", name, got, sum, err)
		}
	}
}

// TestScript: each module can be the entry; each of its imports is there once and before it, and nothing has to be
// fetched.
func TestScript(t *testing.T) {
	modules, err := fs.Glob(files, "web/*.js")
	if err != nil || len(modules) == 0 {
		t.Fatal(modules, err)
	}
	for _, path := range modules {
		script, err := Script(strings.TrimPrefix(path, "web/"))
		if err != nil {
			t.Fatal(err)
		}
		if left := regexp.MustCompile(`(?m)^(import|export)\b.*`).FindString(script); left != "" {
			t.Errorf("%s: %q is left", path, left)
		}
	}
	script, err := Script("report.js")
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, declared := range []string{"var uPlot=", "function element(", "function rate(", "function colour(", "function timeAxis(", "function chart(", "function heatMap(", "const draws ="} {
		if n := strings.Count(script, declared); declared != "function rate(" && declared != "function element(" && n != 1 {
			t.Errorf("%q is there %d times", declared, n)
		}
		if at := strings.Index(script, declared); at < 0 {
			t.Errorf("%q is missing", declared)
		} else if declared == "const draws =" && at < last {
			t.Errorf("%q comes too early", declared)
		} else {
			last = max(last, at)
		}
	}
	if style := Style(); strings.Contains(style, "url(") || strings.Contains(style, "@import") || strings.Contains(style, "</style") {
		t.Error("the style asks for something, or ends its element")
	}
}

// TestLinkerRefuses: modules that the linker does not understand are an error, and never a script that fails in a
// browser.
func TestLinkerRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		modules map[string]string
		want    string
	}{
		"a name of its own":  {map[string]string{"a.js": "import { x as y } from \"./b.js\";\n", "b.js": "export const x = 1;\n"}, "can be linked"},
		"everything":         {map[string]string{"a.js": "import * as b from \"./b.js\";\n", "b.js": ""}, "can be linked"},
		"the default":        {map[string]string{"a.js": "export default 1;\n"}, "can be linked"},
		"a variable":         {map[string]string{"a.js": "export let x = 1;\n"}, "can be linked"},
		"another place":      {map[string]string{"a.js": "import { x } from \"https://example.org/x.js\";\n"}, "can be linked"},
		"a folder":           {map[string]string{"a.js": "import { x } from \"./../x.js\";\n"}, "can be linked"},
		"what is not there":  {map[string]string{"a.js": "import { x } from \"./b.js\";\n"}, "b.js"},
		"a circle":           {map[string]string{"a.js": "import { x } from \"./b.js\";\n", "b.js": "import { y } from \"./a.js\";\n"}, "imports itself"},
		"itself":             {map[string]string{"a.js": "import { x } from \"./a.js\";\n"}, "imports itself"},
		"imports by a call":  {map[string]string{"a.js": "import(\"./b.js\");\n", "b.js": ""}, "can be linked"},
		"several statements": {map[string]string{"a.js": "import { x } from \"./b.js\"; alert(1);\n", "b.js": ""}, "can be linked"},
	} {
		modules := fstest.MapFS{}
		for file, text := range c.modules {
			modules[file] = &fstest.MapFile{Data: []byte(text)}
		}
		l := linker{modules: modules}
		if err := l.add("a.js"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestLinker: a module that two others import is there once, before both.
func TestLinker(t *testing.T) {
	l := linker{modules: fstest.MapFS{
		"a.js": {Data: []byte("import { b } from \"./b.js\";\nimport { c, d } from \"./c.js\";\nb(c, d);\n")},
		"b.js": {Data: []byte("import { c } from \"./c.js\";\nexport function b() {\n  return c;\n}\n")},
		"c.js": {Data: []byte("export const c = \"export\";\nexport const d = 2;")},
	}}
	if err := l.add("a.js"); err != nil {
		t.Fatal(err)
	}
	if got, want := l.out.String(), "const c = \"export\";\nconst d = 2;\nfunction b() {\n  return c;\n}\nb(c, d);\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
