// Package status names the statuses of answers. A status is one number, whatever the protocol: HTTP's are 100 to 999 as
// they stand, and those of gRPC are their codes and one, 1 to 17. So 0 stays free for "no answer", and a report of
// both protocols mixes nothing up.
//
//	status.Name(404)                // "404"
//	status.Name(status.OfGRPC(14))  // "UNAVAILABLE"
package status

import (
	"slices"
	"strconv"
)

// The statuses of gRPC, first and last.
const (
	FirstGRPC = 1  // OK
	LastGRPC  = 17 // UNAUTHENTICATED
)

// names returns the names of the codes of gRPC, in their order. It is a function, because a variable could be changed.
func names() []string {
	return []string{
		"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
		"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
		"INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
	}
}

// Names returns the names of the codes of gRPC, in their order.
func Names() []string { return names() }

// OfGRPC returns the status of a code of gRPC. A code that is not known counts as UNKNOWN, as the protocol wants it.
func OfGRPC(code int) int {
	if code < 0 || code > LastGRPC-FirstGRPC {
		code = 2
	}
	return FirstGRPC + code
}

// Name returns the text of a status: a name of gRPC, or the number.
func Name(status int) string {
	if status >= FirstGRPC && status <= LastGRPC {
		return names()[status-FirstGRPC]
	}
	return strconv.Itoa(status)
}

// Named returns the status of gRPC with a name; false if there is none.
func Named(name string) (status int, known bool) {
	i := slices.Index(names(), name)
	return FirstGRPC + i, i >= 0
}
