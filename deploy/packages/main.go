// Command packages makes a package for Debian and one for Red Hat of what make has built.
//
//	packages -root . -version v1.2.3 -arch amd64
//
// It writes into dist. nfpm.yaml says what is in them. SOURCE_DATE_EPOCH is the time of all files, in seconds since 1970, so
// that the packages have the same bytes each time.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

func main() {
	version := flag.String("version", "", "`VERSION` of the packages")
	arch := flag.String("arch", "amd64", "`ARCH` of the binaries, as Go names it")
	root := flag.String("root", ".", "`DIR` at the top of the repository")
	flag.Parse()
	err := os.Chdir(*root)
	if err == nil {
		err = write(*version, *arch, "dist")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error: packages:", err)
		os.Exit(1)
	}
}

// write makes both packages.
func write(version, arch, out string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return errors.New("set SOURCE_DATE_EPOCH to the time of the commit, in seconds since 1970")
	}
	variables := map[string]string{"VERSION": sortable(version), "ARCH": arch}
	config, err := nfpm.ParseFileWithEnvMapping("deploy/packages/nfpm.yaml", func(name string) string { return variables[name] })
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		info, err := config.Get(format)
		if err != nil {
			return err
		}
		info = nfpm.WithDefaults(info)
		info.MTime = time.Unix(seconds, 0).UTC()
		info.RPM.BuildHost = "localhost" // else that of this machine
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		info.Target = filepath.Join(out, packager.ConventionalFileName(info))
		if err := pack(packager, info); err != nil {
			return err
		}
		fmt.Println(info.Target)
	}
	return nil
}

// pack writes one package.
func pack(packager nfpm.Packager, info *nfpm.Info) error {
	file, err := os.Create(info.Target)
	if err != nil {
		return err
	}
	return errors.Join(packager.Package(info, file), file.Close())
}

// sortable returns a version that package managers can sort, from what git reports. v1.2.3-4-g0123abc is 4 commits
// after a release, and newer than it. A version without a number, such as that of a commit, is older than all releases.
func sortable(version string) string {
	if m := regexp.MustCompile(`^(v?\d+\.\d+\.\d+.*?)-((\d+-g[0-9a-f]+)?(-?dirty)?)$`).FindStringSubmatch(version); m != nil {
		return m[1] + "+" + strings.ReplaceAll(m[2], "-", ".")
	}
	if regexp.MustCompile(`^v?\d+\.\d+\.\d+`).MatchString(version) {
		return version
	}
	return "0.0.0-g" + regexp.MustCompile(`[^0-9A-Za-z]+`).ReplaceAllString(version, ".")
}
