package release

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

// root is the top of the repository, seen from here.
const root = "../.."

// TestConfiguration reads the configuration as strictly as goreleaser does, and compares it with the Makefile.
func TestConfiguration(t *testing.T) {
	project, err := config.Load(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range project.Builds {
		names = append(names, b.ID)
		if _, err := os.Stat(filepath.Join(root, b.Main, "main.go")); err != nil {
			t.Error(err)
		}
		if !slices.Equal(b.Goos, []string{"linux", "darwin"}) || !slices.Equal(b.Goarch, []string{"amd64", "arm64"}) {
			t.Errorf("%s is built for %v and %v", b.ID, b.Goos, b.Goarch)
		}
		// A release and a build by hand give the same bytes.
		ldflags := strings.NewReplacer("{{ .Tag }}", "$(VERSION)", "{{ .FullCommit }}", "$(COMMIT)").Replace(b.Ldflags[0])
		line := "\nGO_BUILD := " + strings.Join(b.Env, " ") + " go build " + strings.Join(b.Flags, " ") + ` -ldflags "` + ldflags + "\"\n"
		if len(b.Ldflags) != 1 || !strings.Contains(string(makefile), line) {
			t.Errorf("the Makefile does not build as a release does:%s", line)
		}
	}
	if !slices.Equal(names, []string{"loadctl", "loadworker"}) || len(project.Archives) != 1 || len(project.Casks) != 1 {
		t.Errorf("%v, %d archives, %d casks", names, len(project.Archives), len(project.Casks))
	}
	const components = "bin/share/loadctl.cdx.json" // the SBOM
	if !slices.ContainsFunc(project.Archives[0].Files, func(f config.File) bool { return f.Source == components }) ||
		!slices.ContainsFunc(project.Release.ExtraFiles, func(f config.ExtraFile) bool { return f.Glob == components }) {
		t.Errorf("%s is not in archives and release", components)
	}
	for _, cask := range project.Casks {
		if project.Release.Draft && !cask.Repository.PullRequest.Enabled {
			t.Error("the cask is published before the files that it downloads, which are in a draft")
		}
	}
	for _, hook := range project.Before.Hooks {
		for target := range strings.FieldsSeq(strings.TrimPrefix(regexp.MustCompile(`{{.*?}}`).ReplaceAllString(hook, ""), "make ")) {
			if !strings.Contains(target, "=") && !strings.Contains(string(makefile), "\n"+target+":") {
				t.Errorf("%s: there is no make %s", hook, target)
			}
		}
	}
}

// TestUnknownSettingsAreRefused: the check above can fail.
func TestUnknownSettingsAreRefused(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for old, changed := range map[string]string{"builds_info": "build_info", "goarch:": "goarches:"} {
		if _, err := config.LoadReader(strings.NewReader(strings.Replace(string(text), old, changed, 1))); err == nil {
			t.Errorf("%s in place of %s is no error", changed, old)
		}
	}
}
