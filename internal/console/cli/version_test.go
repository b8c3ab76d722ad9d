package cli

import (
	"runtime/debug"
	"testing"
)

// TestStamp: what the linker says wins, then the version of the module, then what Go knows of the checkout.
func TestStamp(t *testing.T) {
	checkout := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "false"}}
	changed := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}
	for name, c := range map[string]struct {
		version, commit, module string
		settings                []debug.BuildSetting
		want                    [2]string
	}{
		"nothing known": {"dev", "", "(devel)", nil, [2]string{"dev", ""}},
		"linker":        {"v1.2.3", "def", "(devel)", nil, [2]string{"v1.2.3", "def"}},
		"go install":    {"dev", "", "v1.2.3", nil, [2]string{"v1.2.3", ""}},
		"checkout":      {"dev", "", "v0.0.0-20261125100000-abcdefabcdef", checkout, [2]string{"dev", "abc"}},
		"changed files": {"dev", "", "v0.0.0-20261125100000-abcdefabcdef+dirty", changed, [2]string{"dev", "abc-dirty"}},
		"no commit yet": {"dev", "", "(devel)", []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}, [2]string{"dev", ""}},
		"linker wins":   {"v1.2.3", "def", "v1.2.4", checkout, [2]string{"v1.2.3", "def"}},
	} {
		version, commit := stamp(c.version, c.commit, &debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: c.settings})
		if got := [2]string{version, commit}; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
