package main

import (
	"crypto/x509"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// fake returns a build of two architectures, whose commands are texts.
func fake(t *testing.T) build {
	t.Helper()
	root := t.TempDir()
	for _, name := range []string{
		"bin/linux_amd64/loadctl", "bin/linux_amd64/loadworker", "bin/linux_arm64/loadctl", "bin/linux_arm64/loadworker",
		"LICENSE", "bin/share/THIRD-PARTY-LICENSES", "bin/share/loadctl.cdx.json",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(filepath.Base(name)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return build{root: root, version: "v1.2.3", commit: "abc", created: time.Unix(1_700_000_000, 0).UTC()}
}

// contents returns all files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		all[name[len(dir):]] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestImageIsReproducible: two builds in different folders give the same files. What was there before is gone.
func TestImageIsReproducible(t *testing.T) {
	var all []map[string]string
	for range 2 {
		b := fake(t)
		dir := filepath.Join(b.root, "dist", "image")
		for _, arches := range [][]string{{"arm64"}, {"amd64", "arm64"}} {
			if err := b.write(arches, dir); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, contents(t, dir))
	}
	// oci-layout, index.json, and of blobs: an index, two manifests, two configurations, and a layer of certificates and
	// licences, and one of commands. The fake commands of both architectures are the same.
	if len(all[0]) != 9 || !maps.Equal(all[0], all[1]) {
		t.Errorf("%d and %d files, equal %v", len(all[0]), len(all[1]), maps.Equal(all[0], all[1]))
	}
}

// TestIndex: the index names both platforms, so that each machine finds its own image.
func TestIndex(t *testing.T) {
	b := fake(t)
	dir := filepath.Join(b.root, "image")
	if err := b.write([]string{"amd64", "arm64"}, dir); err != nil {
		t.Fatal(err)
	}
	type index struct {
		Manifests []struct {
			MediaType, Digest string
			Platform          struct{ OS, Architecture string }
			Annotations       map[string]string
		}
	}
	read := func(name string) (x index) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &x); err != nil {
			t.Fatal(err)
		}
		return x
	}
	top := read("index.json")
	if len(top.Manifests) != 1 || top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v1.2.3" {
		t.Fatalf("%+v", top)
	}
	both := read("blobs/sha256/" + top.Manifests[0].Digest[len("sha256:"):])
	var platforms []string
	for _, m := range both.Manifests {
		platforms = append(platforms, m.Platform.OS+"/"+m.Platform.Architecture+" "+m.MediaType)
	}
	const manifest = " application/vnd.oci.image.manifest.v1+json"
	if len(platforms) != 2 || platforms[0] != "linux/amd64"+manifest || platforms[1] != "linux/arm64"+manifest {
		t.Error(platforms)
	}
}

// TestMissingBinary: an image without a command, or for no machine, would only fail where it runs.
func TestMissingBinary(t *testing.T) {
	b := fake(t)
	for _, arches := range [][]string{{"riscv64"}, nil} {
		if err := b.write(arches, filepath.Join(b.root, "image")); err == nil {
			t.Errorf("%q: no error", arches)
		}
	}
}

func TestCertificates(t *testing.T) {
	pool := x509.NewCertPool()
	if text := certificates(); !pool.AppendCertsFromPEM([]byte(text)) || len(text) < 100_000 {
		t.Errorf("%d bytes", len(text))
	}
}
