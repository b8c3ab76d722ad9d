// Command sbom prints what the commands consist of, as a document of CycloneDX (https://cyclonedx.org): one component for
// each module that is compiled into them, with its version and its hash.
//
//	sbom -root . -version v1.2.3
//
// One version, built by one version of Go, gives the same bytes everywhere.
package main

import (
	"encoding/base64"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/loadctl/loadctl/deploy/contents"
)

// module is the path of the module that has the commands.
const module = "github.com/loadctl/loadctl"

func main() {
	root := flag.String("root", ".", "`DIR` at the top of the repository")
	version := flag.String("version", "", "`VERSION` of the commands")
	flag.Parse()
	parts, err := contents.Parts(*root)
	if err == nil {
		err = write(os.Stdout, *version, parts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error: sbom:", err)
		os.Exit(1)
	}
}

// write writes the document.
func write(w io.Writer, version string, parts []contents.Part) error {
	ours := cdx.Component{Type: cdx.ComponentTypeApplication, Name: "loadctl", Version: version, PackageURL: "pkg:golang/" + module + "@" + version}
	ours.BOMRef = ours.PackageURL
	uses := cdx.Dependency{Ref: ours.BOMRef, Dependencies: &[]string{}}
	var components []cdx.Component
	for _, p := range parts {
		c := cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: p.URL, Name: p.Name, Version: p.Version, PackageURL: p.URL, Scope: cdx.ScopeRequired}
		if p.Sum != "" {
			hash, err := sha256(p.Sum)
			if err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hash}}
		}
		components = append(components, c)
		*uses.Dependencies = append(*uses.Dependencies, p.URL)
	}
	bom := cdx.NewBOM()
	bom.Metadata, bom.Components, bom.Dependencies = &cdx.Metadata{Component: &ours}, &components, &[]cdx.Dependency{uses}
	return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cdx.SpecVersion1_6)
}

// sha256 returns the hash of a module in hexadecimal. It is that of go.sum: of the list of the hashes of all files.
func sha256(sum string) (string, error) {
	hash, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:"))
	if err != nil || len(hash) != 32 || !strings.HasPrefix(sum, "h1:") {
		return "", fmt.Errorf("the sum %q is no SHA-256", sum)
	}
	return hex.EncodeToString(hash), nil
}
