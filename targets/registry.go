package targets

import (
	"net/url"
	"slices"
)

// A kind is an entry of the registry: what a scheme needs.
type kind struct {
	scheme string
	port   string // where it connects if the URL names no port; "" if it does not connect
	check  func(Spec, *url.URL) error
	wire   func(*Wire, Spec, *url.URL, Local) error // makes a Wire one of the scheme
	bare   bool                                     // its requests have not the methods, headers and statuses of HTTP
	shared func(Spec) error                         // refuses settings of all requests that it does not use; nil = it refuses none
}

// registry is the one place where targets are registered. To add a target, write one file and add one line here. It is
// a function, because a variable could be changed.
func registry() []kind {
	return []kind{
		{scheme: "http", port: "80", check: checkHTTP, wire: (*Wire).useHTTP},
		{scheme: "https", port: "443", check: checkHTTP, wire: (*Wire).useHTTP},
		{scheme: "noop", check: checkNoop, wire: (*Wire).useNoop},
		{scheme: "tcp", port: noPort, check: checkRaw, wire: (*Wire).useRaw, bare: true, shared: sharedRaw},
		{scheme: "udp", port: noPort, check: checkRaw, wire: (*Wire).useRaw, bare: true, shared: sharedRaw},
		{scheme: "redis", port: "6379", check: checkRedis, wire: (*Wire).useRedis, bare: true, shared: sharedBare},
		{scheme: "rediss", port: "6379", check: checkRedis, wire: (*Wire).useRedis, bare: true, shared: sharedBare},
		{scheme: "ws", port: "80", check: checkWS, wire: (*Wire).useMessages, bare: true, shared: sharedWS},
		{scheme: "wss", port: "443", check: checkWS, wire: (*Wire).useMessages, bare: true, shared: sharedWS},
		{scheme: "grpc", port: "80", check: checkGRPC, wire: (*Wire).useHTTP, bare: true, shared: sharedGRPC},
		{scheme: "grpcs", port: "443", check: checkGRPC, wire: (*Wire).useHTTP, bare: true, shared: sharedGRPC},
	}
}

// Schemes returns the URL schemes that have a target, sorted.
func Schemes() []string {
	var names []string
	for _, k := range registry() {
		names = append(names, k.scheme)
	}
	slices.Sort(names)
	return names
}

// lookup returns the kind of a scheme, in lower case as url.Parse gives it; false if there is none.
func lookup(scheme string) (kind, bool) {
	all := registry()
	i := slices.IndexFunc(all, func(k kind) bool { return k.scheme == scheme })
	if i < 0 {
		return kind{}, false
	}
	return all[i], true
}
