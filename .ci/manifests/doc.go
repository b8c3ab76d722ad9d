// Package manifests checks what the project ships for container engines, Kubernetes and systemd, on a machine that has
// none of them: the Dockerfile, and the files in examples/kubernetes, examples/compose and examples/systemd.
//
//	go -C .ci/manifests test -count=1 ./...
//
// -count=1, since Go does not see that files outside of the module have changed. Needs redis-server and
// systemd-analyze.
//
// Each file is decoded by the types or the parser of those who read it in earnest, where an unknown field is an error;
// what such a decoder cannot know (do names, ports, labels fit together; is nobody root) is checked here; and the
// command lines are run, as processes, with the binaries that the Dockerfile builds. For every check there is a file
// that is broken on purpose and has to be refused.
package manifests
