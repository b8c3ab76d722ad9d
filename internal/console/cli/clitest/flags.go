package clitest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadctl/loadctl/internal/console/cli"
)

// flagRow is one flag of the reference page. Commands that have the same flag share a row.
type flagRow struct {
	group, name, standard, text string
	commands                    []string
}

// FlagsPage compares docs/flags.md with the flags of a program: its tables are between two marks that name the program.
// With update it writes the tables. docs is the path of the folder.
func FlagsPage(t *testing.T, root *cobra.Command, docs string, update bool) {
	t.Helper()
	path := filepath.Join(docs, "flags.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	mark := fmt.Sprintf("<!-- flags of %s -->\n", root.Name())
	before, rest, begins := strings.Cut(string(page), mark)
	old, after, ends := strings.Cut(rest, mark)
	if !begins || !ends {
		t.Fatalf("%s does not have the line %stwice", path, mark)
	}
	tables := flagTables(root)
	switch {
	case old == tables:
	case update:
		if err := os.WriteFile(path, []byte(before+mark+tables+mark+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s differs from --help: run go test -p 1 -run TestFlagsPage ./cmd/... -update", path)
	}
}

// HelpFits checks that no line of the help of any command is wider than 100 columns.
func HelpFits(t *testing.T, root *cobra.Command) {
	t.Helper()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		help, _, _ := Execute(root, args...)
		for line := range strings.Lines(help) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 && c.Name() != "completion" {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), n, line)
			}
		}
		for _, below := range c.Commands() {
			if below.IsAvailableCommand() && c.Name() != "completion" {
				walk(below)
			}
		}
	}
	walk(root)
}

// flagTables are the flags of all commands of a program, a table for each group.
func flagTables(root *cobra.Command) string {
	var rows []*flagRow
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		cli.Ungrouped(c)
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && f.Name != "version" {
				rows = addFlag(rows, strings.TrimPrefix(c.CommandPath(), root.Name()+" "), f)
			}
		})
		for _, below := range c.Commands() {
			if below.IsAvailableCommand() {
				walk(below)
			}
		}
	}
	walk(root)
	var b strings.Builder
	for _, title := range cli.Groups() {
		head := fmt.Sprintf("\n### %s: %s\n\n| flag | default | commands | |\n|---|---|---|---|\n", root.Name(), strings.ToLower(title))
		for _, r := range rows {
			if r.group == title {
				fmt.Fprintf(&b, "%s| `%s` | %s | %s | %s |\n", head, r.name, r.standard, strings.Join(r.commands, ", "), r.text)
				head = ""
			}
		}
	}
	return b.String() + "\n"
}

// addFlag adds a command's flag to the rows: to that of the same flag of another command if there is one.
func addFlag(rows []*flagRow, command string, f *pflag.Flag) []*flagRow {
	value, text := pflag.UnquoteUsage(f)
	r := &flagRow{group: cli.GroupOf(f), name: strings.TrimSpace("--" + f.Name + " " + value), text: strings.ReplaceAll(text, "|", `\|`)}
	if f.Shorthand != "" {
		r.name = "-" + f.Shorthand + ", " + r.name
	}
	r.name = strings.ReplaceAll(r.name, "|", `\|`)
	if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) {
		r.standard = "`" + f.DefValue + "`"
	}
	i := slices.IndexFunc(rows, func(o *flagRow) bool {
		return o.name == r.name && o.group == r.group && o.text == r.text && o.standard == r.standard
	})
	if i < 0 {
		rows, i = append(rows, r), len(rows)
	}
	rows[i].commands = append(rows[i].commands, command)
	return rows
}
