package runflags

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets/rows"
)

// TestReadData: what --data reads, and errors of one line that say what to do.
func TestReadData(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "users.csv")
	if err := os.WriteFile(file, []byte("name\nAnn\nBo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for options, want := range map[string]rows.Source{
		"":                                   {Name: "users", Pick: rows.Cycle},
		",pick=once":                         {Name: "users", Pick: rows.Once},
		",name=people,pick=shuffle,seed=7":   {Name: "people", Pick: rows.Shuffle, Seed: 7},
		",seed=9007199254740991,pick=random": {Name: "users", Pick: rows.Random, Seed: 9007199254740991},
	} {
		sources, data, err := readData([]string{file + options})
		if err != nil {
			t.Fatal(err)
		}
		s := sources[0]
		if s.Name != want.Name || s.Pick != want.Pick || s.Seed != want.Seed || s.Rows != 2 || s.Bytes != 12 {
			t.Errorf("%s: %+v", options, s)
		}
		if data.Tables[s.SHA256].Cell(1, 0) != "Bo" || data.Files[s.SHA256].Name != "users.csv" {
			t.Errorf("%s: %+v", options, data)
		}
	}
	for text, want := range map[string]string{
		"":                                    "give a file first",
		",pick=once":                          "give a file first",
		filepath.Join(dir, "none.csv"):        "no such file or directory; give the path of a file that can be read",
		dir:                                   "give the path of a file that can be read",
		file + ",pick=any":                    `pick "any": write one of once, cycle, shuffle, random`,
		file + ",pick":                        `pick "": write one of`,
		file + ",pick=once,pick=cycle":        "pick is given twice",
		file + ",once":                        `there is no option "once"; use name=NAME, pick=PICK, seed=N`,
		file + ",seed=0,pick=random":          `seed "0": give a whole number from 1 on`,
		file + ",seed=x,pick=random":          `seed "x"`,
		file + ",seed=5":                      "only shuffle and random have a seed; leave it out",
		file + ",name=a.b":                    `"a.b" cannot be a name`,
		file + ",name=":                       `"" cannot be a name`,
		filepath.Join(dir, "users.csv") + "x": "no such file",
	} {
		if _, _, err := readData([]string{text}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, _, err := readData(make([]string, 17)); err == nil || !strings.Contains(err.Error(), "at most 16 files") {
		t.Error(err)
	}
}
