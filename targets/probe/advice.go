package probe

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/resp"
	"github.com/loadctl/loadctl/targets/wire"
	"github.com/loadctl/loadctl/targets/ws"
)

// Advise says in one line what to do about a server that could not be reached, for a request to url. The line begins with
// a verb, or with what the server does; "" if nothing is known but the error.
func Advise(err error, url string) string {
	scheme, _, _ := strings.Cut(strings.ToLower(url), ":")
	return cmp.Or(adviseTrust(err), adviseVersion(err), adviseLogin(err, scheme), adviseProtocol(err, scheme), adviseSilence(err, scheme))
}

// AdviseClass says the same of a class of failures to reach a server; "" of others.
func AdviseClass(class string) string {
	switch class {
	case targets.ClassDNS:
		return "check the host in the URL, and the name servers of this machine"
	case targets.ClassConnect:
		return "start the server, or check host, port and firewalls"
	case targets.ClassTimeout:
		return "check host and port, and whether a firewall drops what is sent"
	case targets.ClassTLS:
		return "check the certificates: --cacert for the server's, --cert and --key for one of your own"
	case targets.ClassEOF, targets.ClassReset:
		return "check the URL, its port and its scheme (with TLS or without), and the log of the server"
	}
	return ""
}

// adviseTrust says what to do about a certificate that is not accepted, or missing; "" if that is not the error.
func adviseTrust(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "trust its authority with --cacert FILE, or accept any certificate with -k"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "write the name in its certificate in --url and its address in --connect-to, or accept any certificate with -k"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "renew the certificate of the server, set the clock of this machine, or accept any certificate with -k"
	}
	if strings.Contains(err.Error(), "certificate required") { // an alert of TLS has no type of its own
		return "the server wants a certificate of yours: give --cert FILE and --key FILE"
	}
	return ""
}

// adviseVersion says what to do about a server that speaks no version of TLS that we do; "" if that is not the error. The
// server says so by an alert, or answers with its own version. Neither has a type.
func adviseVersion(err error) string {
	for _, text := range []string{"tls: protocol version not supported", "tls: server selected unsupported protocol version"} {
		if strings.Contains(err.Error(), text) {
			return "the server's version of TLS is too old: let it speak TLS 1.2 or 1.3"
		}
	}
	return ""
}

// adviseLogin says what to do about a Redis that wants a login; "" if that is not the error.
func adviseLogin(err error, scheme string) string {
	if refused, ok := errors.AsType[resp.Error](err); ok && refused.Name == resp.NoAuth {
		return "the server wants a password: write " + scheme + "://:PASSWORD@HOST:PORT or " + scheme + "://USER:PASSWORD@HOST:PORT in --url"
	}
	return ""
}

// adviseProtocol says what to do about a server that speaks another protocol; "" if that is not the error.
func adviseProtocol(err error, scheme string) string {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server does not speak TLS: write " + strings.TrimSuffix(scheme, "s") + ":// in --url"
	}
	switch {
	case errors.Is(err, wire.ErrNoQUIC):
		return "check the port and firewalls, or leave out --http 3"
	case errors.Is(err, wire.ErrNoHTTP2), scheme == "grpc" && ended(err):
		return adviseHTTP2(scheme)
	case errors.Is(err, ws.ErrNoWebSocket) && scheme == "ws":
		return "check path and login in --url, or write wss:// if the server wants TLS"
	case errors.Is(err, ws.ErrNoWebSocket):
		return "check path and login in --url"
	}
	return ""
}

// adviseHTTP2 says what to do about a server that does not speak HTTP/2.
func adviseHTTP2(scheme string) string {
	switch scheme {
	case "grpcs":
		return "check the port in --url: gRPC needs HTTP/2"
	case "grpc":
		return "check the port in --url, or write grpcs:// if the server wants TLS: gRPC needs HTTP/2"
	case "http":
		return "leave out --http 2, or write https:// if the server wants TLS"
	}
	return "leave out --http 2"
}

// adviseSilence says what to do about a server that ends a connection, or does not answer.
func adviseSilence(err error, scheme string) string {
	what := ""
	switch {
	case ended(err):
		what = "the server ended the connection: check the port in --url"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		what = "the server did not answer in time: check --url and firewalls"
	default:
		return ""
	}
	if plain := strings.TrimSuffix(scheme, "s"); plain != "udp" && plain != "tcp" {
		what += ", and whether it speaks TLS: " + plain + "s:// or " + plain + "://"
	}
	return what
}

// ended reports whether the peer ended a connection that was open.
func ended(err error) bool {
	if dialled, ok := errors.AsType[*net.OpError](err); ok && dialled.Op == "dial" {
		return false
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}
