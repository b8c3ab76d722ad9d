// Package workflows lints the GitHub workflows of this repository and of examples/github. It is a module of its own,
// because its linter needs another version of a library than the tool of releases.
//
//	go -C .ci/workflows test -count=1 ./...
package workflows
