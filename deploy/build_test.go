package deploy

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestBuildsAreReproducible: two builds of copies in different folders, one of them without git, give the same bytes.
// The binaries say what they were built from.
func TestBuildsAreReproducible(t *testing.T) {
	t.Parallel()
	sums := map[string][2][32]byte{}
	for i, dir := range []string{filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "another", "folder")} {
		copySource(t, dir)
		if i == 0 {
			output(t, "git", "-C", dir, "init", "--quiet")
		}
		makes(t, dir, "build")
		for _, name := range []string{"loadctl", "loadworker"} {
			data := written(t, filepath.Join(dir, "bin", name))
			sum := sums[name]
			sum[i] = sha256.Sum256([]byte(data))
			sums[name] = sum
			said := struct{ Program, Version, Commit string }{}
			if err := json.Unmarshal([]byte(output(t, filepath.Join(dir, "bin", name), "version", "-o", "json")), &said); err != nil {
				t.Fatal(err)
			}
			if said.Program != name || said.Version != version || said.Commit != commit {
				t.Errorf("%+v", said)
			}
		}
	}
	for name, sum := range sums {
		if sum[0] != sum[1] {
			t.Errorf("%s: sha256 %x and %x", name, sum[0], sum[1])
		}
	}
}

// copySource copies the files of the repository, but for what was built.
func copySource(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(top(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := filepath.Join(top(t), e.Name())
		switch {
		case slices.Contains([]string{".git", "bin", "dist"}, e.Name()):
		case e.IsDir():
			if err := os.CopyFS(filepath.Join(dir, e.Name()), os.DirFS(name)); err != nil {
				t.Fatal(err)
			}
		default:
			if err := os.WriteFile(filepath.Join(dir, e.Name()), []byte(written(t, name)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
