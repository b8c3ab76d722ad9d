package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Args wraps a check of positional arguments, so that its errors are ones of configuration and say what to give instead. What a
// command takes is read from its Use line: "set-rate RUN RATE".
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

// wanted is what to give instead of args.
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

// placeholders are the arguments of a Use line in words: those in capitals between the command's name and its flags.
func placeholders(use string) []string {
	known := map[string]string{"RUN": "the name of one run", "RATE": "a rate, such as 500", "DIR": "a directory"}
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

// nearest asks whether a command with a similar name was meant, or is "" if there is none.
func nearest(c *cobra.Command, name string) string {
	const longest = 20 // comparing takes the product of the lengths
	if name == "" || len(name) > longest {
		return ""
	}
	c.SuggestionsMinimumDistance = min(2, len(name)/2) // ls is not what somebody meant who wrote xy
	similar := c.SuggestionsFor(name)
	if len(similar) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(similar, " or ") + "? Or "
}

// Similar asks whether one of the known names was meant, as for commands; "" if none is near.
func Similar(name string, known []string) string {
	c := &cobra.Command{}
	for _, k := range known {
		c.AddCommand(&cobra.Command{Use: k, Run: func(*cobra.Command, []string) {}})
	}
	return nearest(c, name)
}
