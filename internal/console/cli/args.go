package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Args wraps a check of positional arguments. Its errors are errors of configuration and say what to give instead. The
// arguments of a command are read from its Use line, such as "set-rate RUN RATE".
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		err := check(c, args)
		switch {
		case err == nil:
			return nil
		case c.HasAvailableSubCommands() && len(args) > 0:
			return Config(fmt.Errorf("unknown command %.40q for %q; %ssee %s --help", args[0], c.CommandPath(), nearest(c, args[0]), c.CommandPath()))
		default:
			return Config(fmt.Errorf("%s: %s; usage: %s", c.Name(), wanted(c, args), c.UseLine()))
		}
	}
}

// wanted returns what to give instead of args.
func wanted(c *cobra.Command, args []string) string {
	names := placeholders(c.Use)
	take := "takes no arguments"
	if len(names) > 0 {
		take = "give " + strings.Join(names, " and ")
	}
	for _, value := range []string{"false", "true"} {
		if len(args) > len(names) && slices.Contains(args, value) {
			return take + fmt.Sprintf(", %q is one too many; a flag has it with =, as in --spread=%s", value, value)
		}
	}
	if len(args) > len(names) {
		take += fmt.Sprintf(", %.40q is one too many", args[len(names)])
	}
	return take
}

// placeholders returns the arguments of a Use line: the words in capitals between the command's name and its flags.
func placeholders(use string) []string {
	known := map[string]string{"RUN": "the name of one run", "RUN|FILE...": "the name of one run, or files", "RATE": "a rate, such as 500", "DIR": "a directory"}
	var names []string
	for _, word := range strings.Fields(use)[1:] {
		if strings.HasPrefix(word, "-") {
			break
		}
		name, ok := known[word]
		if !ok {
			name = word
		}
		names = append(names, name)
	}
	return names
}

// nearest asks whether a command with a similar name was meant; "" if there is none.
func nearest(c *cobra.Command, name string) string { return meant("", similar(c, name)) }

// nearestFlag is nearest for the flags of a command.
func nearestFlag(c *cobra.Command, name string) string {
	if len(name) == 1 { // a shorthand is near to all that begin with it
		return ""
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	return meant("--", similar(commands(known), name))
}

// Similar asks whether one of the known names was meant, as for commands; "" if none is similar.
func Similar(name string, known []string) string { return nearest(commands(known), name) }

// commands returns a command with subcommands of these names, which cobra compares.
func commands(names []string) *cobra.Command {
	c := &cobra.Command{}
	for _, name := range names {
		c.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	return c
}

// similar returns the subcommands of c with names similar to this one.
func similar(c *cobra.Command, name string) []string {
	const longest = 20 // comparing takes the product of the lengths
	if name == "" || len(name) > longest {
		return nil
	}
	c.SuggestionsMinimumDistance = min(2, len(name)/2) // ls is not what somebody meant who wrote xy
	return c.SuggestionsFor(name)
}

// meant asks whether one of the names was meant, each with a prefix; "" if there are none.
func meant(prefix string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "did you mean " + prefix + strings.Join(names, " or "+prefix) + "? Or "
}
