// Package deploy tests what a release consists of: the binaries, packages for Debian and Red Hat, the image, and the
// site. Each is built with make, as for a release, and then used as its users do.
//
//	go -C deploy test -count=1 ./...
//
// It is a module of its own, so that its tools are no dependencies of the product. -count=1, since Go does not see that
// files outside of the module have changed. They need dpkg, rpm, systemd-analyze and chromium-headless-shell; and root, or
// else a kernel that lets users create namespaces.
package deploy
