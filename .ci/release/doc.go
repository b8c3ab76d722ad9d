// Package release has the tool of releases, in a module of its own, and checks its configuration as far as that needs
// no build of the tool: `make release-check` does the rest.
//
//	go -C .ci/release test -count=1 ./...
package release
