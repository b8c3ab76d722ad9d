package main

import (
	"archive/tar"
	"maps"
	"path"
	"slices"
	"strings"
)

// headers returns the headers of files, each after those of its folders, in an order that is the same each time.
func headers(files map[string]string) (all []*tar.Header) {
	made := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		parts := strings.Split(path.Dir(name), "/")
		for i := range parts {
			dir := strings.Join(parts[:i+1], "/") + "/"
			if !made[dir] {
				made[dir] = true
				all = append(all, &tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755})
			}
		}
		mode := int64(0o644)
		if strings.Contains(name, "bin/") {
			mode = 0o755
		}
		all = append(all, &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(files[name]))})
	}
	return all
}
