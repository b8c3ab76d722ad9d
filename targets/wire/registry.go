package wire

import (
	"net/url"
	"slices"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// A protocol is how requests of some schemes are checked, made and judged.
type protocol struct {
	schemes []string
	check   func(targets.Spec, *url.URL) error
	use     func(*Wire, targets.Spec, *url.URL, targets.Local) error // makes a Wire one of the protocol
	events  []string                                                 // the kinds that answers in pieces have; nil = none
	shared  func(targets.Spec) error                                 // refuses settings of all requests that it does not use; nil = it refuses none
}

// registry is the one place where protocols are registered. To add one, write one file and add one line here, and its
// schemes to the table of package targets. It is a function, because a variable could be changed.
func registry() []protocol {
	return []protocol{
		{schemes: []string{"http", "https"}, check: checkHTTP, use: (*Wire).useHTTP, events: []string{events.SSE, events.Lines, events.Chunks}},
		{schemes: []string{"noop"}, check: checkNoop, use: (*Wire).useNoop, shared: sharedNoop},
		{schemes: []string{"tcp", "udp"}, check: checkRaw, use: (*Wire).useRaw, shared: sharedRaw},
		{schemes: []string{"redis", "rediss"}, check: checkRedis, use: (*Wire).useRedis, shared: sharedBare},
		{schemes: []string{"ws", "wss"}, check: checkWS, use: (*Wire).useMessages, shared: sharedWS, events: []string{events.Messages}},
		{schemes: []string{"grpc", "grpcs"}, check: checkGRPC, use: (*Wire).useHTTP, shared: sharedGRPC, events: []string{events.Messages}},
	}
}

// protocolOf returns the protocol of a step, and its URL. Schemes that are not ours have one together.
func protocolOf(s targets.Spec) (protocol, *url.URL, error) {
	scheme, u, err := s.ParseURL()
	if err != nil {
		return protocol{}, nil, err
	}
	all := registry()
	if i := slices.IndexFunc(all, func(p protocol) bool { return slices.Contains(p.schemes, scheme.Name) }); i >= 0 {
		return all[i], u, nil
	}
	return protocol{check: checkOwn, use: (*Wire).useOwn, shared: sharedBare}, u, nil
}
