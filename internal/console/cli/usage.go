package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the largest width of help, in columns.
const helpWidth = 100

// group is the annotation of a flag with the title under which help shows it.
const group = "group"

// Groups returns the titles of the groups of flags, in the order of help.
func Groups() []string {
	return []string{"Run", "Request", "Connections", "Limiter", "Outages", "This worker", "Output", "Flags", "Global flags"}
}

// Group puts the flags of a set that are in no group yet into the group with this title, one of Groups.
func Group(s *pflag.FlagSet, title string) {
	s.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[group] == nil {
			SetGroup(s, f.Name, title)
		}
	})
}

// SetGroup puts one flag of a set into the group with this title.
func SetGroup(s *pflag.FlagSet, name, title string) {
	_ = s.SetAnnotation(name, group, []string{title}) // fails only where there is no such flag
}

// Ungrouped puts a command's own flags that are in no group into the group Flags.
func Ungrouped(c *cobra.Command) { Group(c.LocalNonPersistentFlags(), "Flags") }

// GroupOf returns the title of a flag's group. Flags that all commands have are global.
func GroupOf(f *pflag.Flag) string {
	if g := f.Annotations[group]; g != nil {
		return g[0]
	}
	return "Global flags"
}

// usage prints how to call a command: its flags are in groups, wrapped at helpWidth.
func usage(c *cobra.Command) error {
	var b strings.Builder
	if c.Runnable() {
		fmt.Fprintf(&b, "Usage:\n  %s\n", c.UseLine())
	} else {
		fmt.Fprintf(&b, "Usage:\n  %s [command]\n", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\nAvailable Commands:\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	b.WriteString(flagUsages(c))
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s [command] --help\" for more information about a command.\n", c.CommandPath())
	}
	_, err := fmt.Fprint(c.OutOrStderr(), b.String())
	return err
}

// flagUsages returns the flags of a command, a paragraph for each group that has any.
func flagUsages(c *cobra.Command) string {
	Ungrouped(c)
	sets := map[string]*pflag.FlagSet{}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		title := GroupOf(f)
		if sets[title] == nil {
			sets[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
		}
		sets[title].AddFlag(f)
	})
	var b strings.Builder
	for _, title := range slices.DeleteFunc(Groups(), func(t string) bool { return sets[t] == nil || !sets[t].HasAvailableFlags() }) {
		fmt.Fprintf(&b, "\n%s:\n%s", title, sets[title].FlagUsagesWrapped(helpWidth))
	}
	return b.String()
}
