package link

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
)

// Connect reaches the Redis server at a URL in one of go-redis' forms: redis://[user:password@]host:port/db,
// rediss://… for TLS, unix://path. A node of a Redis Cluster stands for the whole cluster; ?addr=host:port&addr=…
// names further nodes, any of which may be asked for the others. With ?master_name=NAME the named servers are
// Sentinels, and Connect reaches the master that they watch. "@FILE" reads the URL from a file, so that no process
// list shows a password. No error shows the password.
//
// The client does not repeat calls to a single server: the protocol of renewals does that, with a sequence number.
// The client of a cluster does repeat them, within the time of one call on a single server.
func Connect(ctx context.Context, address string) (rdb.Client, error) {
	return connect(ctx, address, nil)
}

// connect is Connect. All connections of the client are those of the link; nil = the client has its own.
func connect(ctx context.Context, address string, link *Link) (rdb.Client, error) {
	if file, ok := strings.CutPrefix(address, "@"); ok {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the Redis URL: %w; write the path of a file with the URL after the @", err)
		}
		address = strings.TrimSpace(string(text))
	}
	u, err := parseURL(address)
	if err != nil {
		return nil, err
	}
	client, err := open(u, link)
	if err != nil {
		return nil, err
	}
	err = greet(ctx, client)
	if errors.Is(err, errNode) {
		_ = client.Close() // nothing was said yet
		if client, err = openCluster(u, link); err != nil {
			return nil, err
		}
		err = greet(ctx, client)
	}
	if err != nil {
		_ = client.Close() // the first error tells more
		if _, known := errors.AsType[refusal](Advise(err)); known {
			return nil, Advise(fmt.Errorf("reach Redis at %s: %w", host(u), err))
		}
		return nil, fmt.Errorf("reach Redis at %s: %w; %s", host(u), err, hint(u.Scheme, err))
	}
	return client, nil
}

// Hint says what to check if a server cannot be reached for an unknown reason.
const Hint = "check --redis or LOADCTL_REDIS"

// hint returns what to check if a server cannot be reached.
func hint(scheme string, err error) string {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case unknown:
		return "trust its authority with the environment SSL_CERT_FILE=FILE"
	case scheme == "rediss" && (plain || errors.Is(err, io.EOF) || errors.Is(err, context.DeadlineExceeded)):
		return Hint + "; rediss:// is for a server with TLS, redis:// for one without"
	case scheme == "redis" && errors.Is(err, io.EOF):
		return Hint + "; redis:// is for a server without TLS, rediss:// for one with it"
	default:
		return Hint
	}
}

// greet makes one call that any server answers, or returns errNode. When ctx ends it returns at once. A call to a
// server that hangs only ends at its deadline, so greet closes the connection.
func greet(ctx context.Context, client rdb.Client) error {
	limit, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	hangUp := context.AfterFunc(ctx, func() { _ = client.Close() })
	defer hangUp()
	var err error
	switch c := client.(type) {
	case *redis.Client:
		err = ask(limit, c)
	case *redis.ClusterClient:
		err = greetCluster(limit, c)
	case *Watched:
		err = greetSentinel(limit, c)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// errURL quotes nothing of the URL: all of it may be a password.
var errURL = errors.New("read the Redis URL: it is not of the form redis://[user:password@]host:port[/db], rediss://… or unix:///path; " +
	"write / ? # @ % in a password as %2F %3F %23 %40 %25")

// parseURL refuses a URL that would be split at the wrong place. An unescaped / ? or # in a password ends the host
// there. The rest, up to the @, would be a path, a query or a fragment, and would show in errors about those.
func parseURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" || strings.Contains(address, "#") {
		return nil, errURL
	}
	query := u.Query()
	query.Del("sentinel_password") // the only password that belongs there
	_, err = url.QueryUnescape(u.RawQuery)
	// Further nodes have the password of the first.
	if rest, _ := url.QueryUnescape(query.Encode()); err != nil || strings.Contains(rest, "@") || strings.Contains(u.RawQuery, "@") {
		return nil, errURL
	}
	switch u.Scheme {
	case "redis", "rediss":
		if strings.Contains(u.Path, "@") {
			return nil, errURL
		}
	case "unix":
		if u.Host != "" || u.Path == "" {
			return nil, errURL
		}
	default:
		return nil, errURL
	}
	return u, nil
}

// host returns what may be shown of a URL: host and port, or the path of a socket.
func host(u *url.URL) string {
	switch {
	case u.Scheme == "unix":
		return u.Path
	case u.Host == "":
		return "localhost"
	default:
		return u.Host
	}
}

// open makes the client that the URL asks for. It does not connect yet.
func open(u *url.URL, link *Link) (rdb.Client, error) {
	if u.Query().Has("master_name") {
		return openSentinel(u, link)
	}
	if u.Query().Has("addr") {
		return openCluster(u, link)
	}
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, misread(u, unquoted(err), "redis://[user:password@]host:port[/db]")
	}
	o.MaxRetries, o.ContextTimeoutEnabled = -1, true
	o.PipelinePoolSize = -1 // else pipelines would have connections of their own
	share(link, o, redis.NewDialer(o))
	client := redis.NewClient(o)
	client.AddHook(refusals{})
	return client, nil
}

// unquoted returns the library's error about a URL without the quoted part. That part may be a secret if the URL was
// split at the wrong place, even as the name of an option. Names of options in the rest are the library's own.
func unquoted(err error) error {
	known := regexp.MustCompile(`^redis: (invalid [a-z_]+ (?:number|duration|boolean)|invalid URL path|unexpected option|unable to parse addr param):`)
	if m := known.FindStringSubmatch(err.Error()); m != nil {
		return errors.New(m[1])
	}
	return errors.New("it cannot be read")
}

// misread returns what is wrong with a part of a URL, and the right form.
func misread(u *url.URL, err error, form string) error {
	return fmt.Errorf("read the Redis URL of %s: %w; write %s", host(u), err, form)
}
