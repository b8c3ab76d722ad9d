package deploy

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestImage unpacks the image as a container engine does, and runs its commands in it as the user that it names.
func TestImage(t *testing.T) {
	layout := filepath.Join(one, "dist", "image")
	if text := written(t, filepath.Join(layout, "oci-layout")); !strings.Contains(text, `"imageLayoutVersion": "1.0.0"`) {
		t.Error(text)
	}
	var index, both struct {
		Manifests []struct {
			Digest   string
			Platform struct{ Architecture string }
		}
	}
	decode(t, []byte(written(t, filepath.Join(layout, "index.json"))), &index)
	decode(t, blob(t, layout, index.Manifests[0].Digest), &both)
	if len(both.Manifests) != 1 || both.Manifests[0].Platform.Architecture != runtime.GOARCH {
		t.Fatalf("%+v", both)
	}
	var manifest struct {
		Config struct{ Digest string }
		Layers []struct{ MediaType, Digest string }
	}
	decode(t, blob(t, layout, both.Manifests[0].Digest), &manifest)
	var image struct {
		Created, OS, Architecture string
		Config                    struct {
			User                 string
			Entrypoint, Cmd, Env []string
			Labels               map[string]string
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	decode(t, blob(t, layout, manifest.Config.Digest), &image)
	config := image.Config
	if image.Created != "2023-11-30T22:13:20Z" || config.User != "65532:65532" || !slices.Equal(config.Entrypoint, []string{"loadctl"}) ||
		!slices.Equal(config.Cmd, []string{"--help"}) || !slices.Equal(config.Env, []string{"PATH=/usr/local/bin"}) ||
		config.Labels["org.opencontainers.image.version"] != version || config.Labels["org.opencontainers.image.revision"] != commit {
		t.Errorf("%+v", image)
	}
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, layer := range manifest.Layers {
		unpack(t, blob(t, layout, layer.Digest), image.RootFS.DiffIDs[i], root)
	}
	if text := written(t, filepath.Join(root, "usr/share/doc/loadctl/THIRD-PARTY-LICENSES")); !strings.Contains(text, "go-redis") {
		t.Errorf("licences: %.300s", text)
	}
	if text := written(t, filepath.Join(root, "usr/share/doc/loadctl/loadctl.cdx.json")); !strings.Contains(text, "CycloneDX") {
		t.Errorf("components: %.300s", text)
	}
	runImage(t, root, config.Entrypoint[0])
}

// runImage runs the commands with root as their whole file system, and without any right.
func runImage(t *testing.T, root, entrypoint string) {
	t.Helper()
	in := func(name string, args ...string) string {
		t.Helper()
		cmd := asUser(exec.CommandContext(t.Context(), "/usr/local/bin/"+name, args...), 65532)
		cmd.Dir, cmd.Env, cmd.SysProcAttr.Chroot = "/", []string{"PATH=/usr/local/bin"}, root
		return said(t, cmd)
	}
	if out := in(entrypoint, "version"); !strings.HasPrefix(out, "loadctl "+version+" ") || !strings.Contains(out, commit) {
		t.Error(out)
	}
	if out := in("loadworker", "run", "--url", "noop://", "--qps", "200", "-n", "100"); !strings.Contains(out, "100") {
		t.Error(out)
	}
	if err := os.WriteFile(filepath.Join(root, "nobody"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 3 { // etc, usr, nobody
		t.Errorf("%v, %v", entries, err)
	}
}

// TestImageIsPushed: a registry has both platforms directly below the name, where engines look for their own.
func TestImageIsPushed(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	image := strings.TrimPrefix(server.URL, "http://") + "/team/loadctl:" + version
	output(t, "make", "-C", one, "push", "IMAGE="+image)
	to, err := name.ParseReference(image)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(to)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 || !manifest.Manifests[0].MediaType.IsImage() || manifest.Manifests[0].Platform.Architecture != runtime.GOARCH {
		t.Errorf("%+v", manifest)
	}
	if out, err := exec.CommandContext(t.Context(), "make", "-C", one, "push").CombinedOutput(); err == nil || !strings.Contains(string(out), "make push IMAGE=") {
		t.Errorf("%v\n%s", err, out)
	}
}

// blob returns a part of an image, whose name is the sum of its bytes.
func blob(t *testing.T, layout, digest string) []byte {
	t.Helper()
	text := []byte(written(t, filepath.Join(layout, "blobs", strings.Replace(digest, ":", "/", 1))))
	if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(text)); sum != digest {
		t.Fatalf("%s has the sum %s", digest, sum)
	}
	return text
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// unpack unpacks a layer into a folder, with its modes. What is in it belongs to root.
func unpack(t *testing.T, layer []byte, diffID, root string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(layer))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(text)); sum != diffID {
		t.Errorf("a layer has the sum %s, and the image names %s", sum, diffID)
	}
	for r := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(root, h.Name)
		switch {
		case h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 1_701_382_400:
			t.Errorf("%+v", h)
		case h.Typeflag == tar.TypeDir:
			err = os.MkdirAll(name, h.FileInfo().Mode().Perm())
		default:
			data, readErr := io.ReadAll(r)
			err = errors.Join(readErr, os.WriteFile(name, data, h.FileInfo().Mode().Perm()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
