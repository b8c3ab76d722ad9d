package deploy

import (
	"crypto/sha256"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuildsAreReproducible: builds of two copies in different folders give the same bytes: commands, packages, image, chart.
func TestBuildsAreReproducible(t *testing.T) {
	first, second := sums(t, one), sums(t, two)
	if len(first) < 10 || len(first) != len(second) {
		t.Errorf("%d and %d files", len(first), len(second))
	}
	for name, sum := range first {
		if second[name] != sum {
			t.Errorf("two builds of %s differ", name)
		}
	}
}

// sums returns the sums of all files that were built in a checkout.
func sums(t *testing.T, checkout string) map[string][32]byte {
	t.Helper()
	all := map[string][32]byte{}
	for _, dir := range []string{"bin", "dist"} {
		err := filepath.WalkDir(filepath.Join(checkout, dir), func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			all[strings.TrimPrefix(name, checkout)] = sha256.Sum256([]byte(written(t, name)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestBinariesSayWhatTheyAre: version and commit come from make.
func TestBinariesSayWhatTheyAre(t *testing.T) {
	for _, name := range []string{"loadctl", "loadworker"} {
		said := struct{ Program, Version, Commit string }{}
		decode(t, []byte(output(t, filepath.Join(one, "bin", name), "version", "-o", "json")), &said)
		if said.Program != name || said.Version != version || said.Commit != commit {
			t.Errorf("%+v", said)
		}
	}
}

// TestChartFile: the chart has the version of the release. .ci/manifests tests what is in it.
func TestChartFile(t *testing.T) {
	text := output(t, "tar", "-xzOf", built(t, one, "*.tgz"), "loadctl/Chart.yaml")
	if !strings.Contains(text, "\nversion: 1.2.3\n") || !strings.Contains(text, "\nappVersion: \"v1.2.3\"\n") {
		t.Error(text)
	}
}
