package importer

import (
	"net/http"
	"strings"

	"github.com/loadctl/loadctl/internal/input/draft"
)

// An option is one of curl's.
type option struct {
	names string // such as -X --request
	value bool   // it has a value
	set   func(c *command, value string) error
	note  string // what to do instead, if set is nil; "" = the request is the same without
}

// Notes on options that a run has flags for.
const (
	forAll    = " to the run, which holds for all requests"
	noteHTTP  = "--http 1.1, 2 or 3 of the run chooses the version"
	noteRoute = "give --connect-to" + forAll
)

// curlOptions returns the options that are known, by name.
func curlOptions() map[string]option {
	all := map[string]option{}
	for _, o := range optionTable() {
		for name := range strings.FieldsSeq(o.names) {
			all[name] = o
		}
	}
	return all
}

// optionTable has a row for options that do the same.
func optionTable() []option {
	return []option{
		{"-X --request", true, func(c *command, v string) error { c.r.Method = v; return nil }, ""},
		{"-I --head", false, func(c *command, _ string) error { c.r.Method = http.MethodHead; return nil }, ""},
		{"-G --get", false, func(c *command, _ string) error { c.get = true; return nil }, ""},
		{"-g --globoff", false, func(c *command, _ string) error { c.plain = true; return nil }, ""},
		{"-H --header", true, (*command).header, ""},
		{"-A --user-agent", true, func(c *command, v string) error { c.choose("User-Agent", v); return nil }, ""},
		{"-e --referer", true, func(c *command, v string) error { c.choose("Referer", strings.TrimSuffix(v, ";auto")); return nil }, ""},
		{"-r --range", true, (*command).ranged, ""},
		{"--url", true, (*command).target, ""},
		{"-d --data --data-ascii", true, bodyOf("d"), ""},
		{"--data-raw", true, bodyOf("raw"), ""},
		{"--data-binary", true, bodyOf("binary"), ""},
		{"--data-urlencode", true, bodyOf("urlencode"), ""},
		{"--json", true, bodyOf("json"), ""},
		{"-F --form", true, (*command).field, ""},
		{"--form-string", true, (*command).fieldText, ""},
		{"-u --user", true, secretOf("Authorization (-u)"), ""},
		{"--oauth2-bearer", true, secretOf("Authorization (--oauth2-bearer)"), ""},
		{"-b --cookie", true, secretOf("Cookie (-b)"), ""},
		{"--compressed", false, func(c *command, _ string) error {
			c.r.Replaced = draft.Once(c.r.Replaced, "Accept-Encoding (--compressed)")
			return nil
		}, ""},

		{"-k --insecure", false, nil, "give --insecure" + forAll},
		{"-L --location --location-trusted", false, nil, "give --redirects 5" + forAll},
		{"--max-redirs", true, nil, "give --redirects" + forAll},
		{"-m --max-time --connect-timeout", true, nil, "give --timeout" + forAll},
		{"-c --cookie-jar", true, nil, "write cookies: true, and each flow keeps the cookies of its answers"},
		{"--http1.1 --http2 --http2-prior-knowledge --http3 --http3-only", false, nil, noteHTTP},
		{"--no-keepalive", false, nil, "--no-keep-alive of the run opens a connection for each request"},
		{"--resolve --connect-to", true, nil, noteRoute},
		{"--unix-socket", true, nil, "give --unix-socket" + forAll},
		{"--interface", true, nil, "give --laddr" + forAll},
		{"--cacert", true, nil, "give --cacert" + forAll},
		{"-E --cert", true, nil, "give --cert to the run or to the worker"},
		{"--key", true, nil, "give --key to the run or to the worker"},

		{"-s --silent -S --show-error -i --include -f --fail --fail-with-body --fail-early -v --verbose -# --progress-bar", false, nil, ""},
		{"-N --no-buffer -O --remote-name --remote-name-all -J --remote-header-name -R --remote-time --create-dirs", false, nil, ""},
		{"--no-progress-meter --remove-on-error --retry-all-errors --retry-connrefused --styled-output --trace-time", false, nil, ""},
		{"-4 --ipv4 -6 --ipv6 --tcp-nodelay --tcp-fastopen --no-alpn --no-sessionid -Z --parallel --basic -q --disable", false, nil, ""},
		{"-1 --tlsv1 --tlsv1.0 --tlsv1.1 --tlsv1.2 --tlsv1.3 --path-as-is --ssl-no-revoke", false, nil, ""},
		{"-o --output --output-dir -w --write-out -D --dump-header --stderr --trace --trace-ascii", true, nil, ""},
		{"--retry --retry-delay --retry-max-time --limit-rate -y --speed-time -Y --speed-limit --max-filesize --rate", true, nil, ""},
		{"--keepalive-time --expect100-timeout --proto --proto-default --tls-max --ciphers --tls13-ciphers --parallel-max", true, nil, ""},
	}
}

// bodyOf takes a part of the body.
func bodyOf(kind string) func(*command, string) error {
	return func(c *command, value string) error { return c.body(kind, value) }
}

// secretOf notes a secret, and does not keep it.
func secretOf(what string) func(*command, string) error {
	return func(c *command, _ string) error {
		c.r.Secrets = draft.Once(c.r.Secrets, what)
		return nil
	}
}

// ranged takes the range of -r. curl takes 5 for 5-.
func (c *command) ranged(value string) error {
	if c.span = value; !strings.Contains(value, "-") {
		c.span += "-"
	}
	return nil
}
