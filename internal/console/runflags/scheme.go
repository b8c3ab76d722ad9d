package runflags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/loadctl/loadctl/targets"
)

// schemeFlags are for schemes that are not ours.
type schemeFlags struct{ named, settings []string }

func (f *schemeFlags) addFlags(s *pflag.FlagSet) {
	s.StringArrayVar(&f.named, "scheme", nil, "`NAME=VERSION` of a scheme that the workers have and this program does not; may be repeated. See docs/extend.md")
	s.StringArrayVar(&f.settings, "set", nil, "`KEY=VALUE` for the scheme of a program of one's own; may be repeated. See docs/extend.md")
}

// set sets the schemes that URLs may have besides ours, and what only those know. have are those of this program.
func (f *schemeFlags) set(t *targets.Spec, have []targets.Scheme) error {
	t.Schemes = append(slices.Clone(have), targets.Program())
	for _, text := range f.named {
		k, err := targets.ParseScheme(text)
		if err != nil {
			return fmt.Errorf("--%w", err)
		}
		i := slices.IndexFunc(t.Schemes, func(o targets.Scheme) bool { return o.Name == k.Name })
		if i >= 0 && t.Schemes[i].Version != k.Version {
			return fmt.Errorf("--scheme %s: this program has %s; leave it out, or start the program with that version", k, t.Schemes[i])
		}
		if i < 0 {
			t.Schemes = append(t.Schemes, k)
		}
	}
	for _, text := range f.settings {
		key, value, ok := strings.Cut(text, "=")
		if _, twice := t.Settings[key]; !ok || key == "" || twice {
			return fmt.Errorf("--set %.40q: write KEY=VALUE, and each key once", key)
		}
		if t.Settings == nil {
			t.Settings = map[string]string{}
		}
		t.Settings[key] = value
	}
	return nil
}
