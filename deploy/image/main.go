// Command image writes an image of both commands, without a container engine: a folder in the OCI image layout.
//
//	image -root . -version v1.2.3 -commit 0123abc amd64 arm64
//
// It takes the binaries of each architecture from bin/linux_ARCH, licences and the list of components from bin/share, and
// writes into dist/image. SOURCE_DATE_EPOCH is the time of the image, in seconds since 1970, so that it has the same bytes
// each time.
package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	var b build
	flag.StringVar(&b.root, "root", ".", "`DIR` at the top of the repository")
	flag.StringVar(&b.version, "version", "dev", "`VERSION` of the binaries")
	flag.StringVar(&b.commit, "commit", "", "`COMMIT` of the source")
	flag.Parse()
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		err = errors.New("set SOURCE_DATE_EPOCH to the time of the commit, in seconds since 1970")
	} else {
		b.created = time.Unix(seconds, 0).UTC()
		err = b.write(flag.Args(), filepath.Join(b.root, "dist", "image"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error: image:", err)
		os.Exit(1)
	}
}

// build is what an image is made of.
type build struct {
	root            string // of the repository
	version, commit string
	created         time.Time
}

// write writes an index with an image for each architecture into dir, which it replaces.
func (b build) write(arches []string, dir string) error {
	if len(arches) == 0 {
		return errors.New("name the architectures, such as: amd64 arm64")
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range arches {
		image, err := b.image(arch)
		if err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	// The layout names one index, whose name is the version. Tools that push a folder find it there.
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": b.version}))
}

// image returns the image of one architecture: certificates, licences, the list of components, the commands, and nothing else.
func (b build) image(arch string) (v1.Image, error) {
	texts, err := b.read("usr/share/doc/loadctl/", "LICENSE", "bin/share/THIRD-PARTY-LICENSES", "bin/share/loadctl.cdx.json")
	if err != nil {
		return nil, err
	}
	texts["etc/ssl/certs/ca-certificates.crt"] = certificates()
	programs, err := b.read("usr/local/bin/", "bin/linux_"+arch+"/loadctl", "bin/linux_"+arch+"/loadworker")
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, files := range []map[string]string{texts, programs} {
		layer, err := b.layer(files)
		if err != nil {
			return nil, err
		}
		image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: b.created}, CreatedBy: "make image"}})
		if err != nil {
			return nil, err
		}
	}
	labels := map[string]string{
		"title": "loadctl", "description": "Distributed load generator with one exact rate", "licenses": "Apache-2.0",
		"source": "https://github.com/loadctl/loadctl", "version": b.version, "revision": b.commit, "created": b.created.Format(time.RFC3339),
	}
	config := v1.Config{
		Env: []string{"PATH=/usr/local/bin"}, User: "65532:65532", // nobody; a number, so that Kubernetes can check that it is not root
		Entrypoint: []string{"loadctl"}, Cmd: []string{"--help"}, Labels: map[string]string{},
	}
	for name, value := range labels {
		config.Labels["org.opencontainers.image."+name] = value
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config, file.Created = "linux", arch, config, v1.Time{Time: b.created}
	return mutate.ConfigFile(image, file)
}

// read returns files of the repository, by their names in a folder of the image.
func (b build) read(folder string, names ...string) (map[string]string, error) {
	files := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(b.root, name))
		if err != nil {
			return nil, err
		}
		files[folder+filepath.Base(name)] = string(text)
	}
	return files, nil
}

// layer returns a layer with these files and their folders, which belong to root and can be read by all.
func (b build) layer(files map[string]string) (v1.Layer, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, h := range headers(files) {
		h.ModTime, h.Format = b.created, tar.FormatPAX
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(w, files[h.Name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buffer.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

// certificates returns the authorities to trust behind https:// and rediss://, in PEM: Mozilla's list, as of the module in
// go.mod. It leaves out those that are trusted with conditions, because a file of certificates cannot state them.
func certificates() string {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
		}
	}
	return text.String()
}
