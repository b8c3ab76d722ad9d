package run

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
)

// Connect reaches the Redis server at a URL in one of go-redis' forms: redis://[user:password@]host:port/db, rediss://… for
// TLS, unix://path. A node of a Redis Cluster stands for all of it; with ?addr=host:port&addr=… further ones are named, of which any may be
// asked for the others. With ?master_name=NAME the servers named are Sentinels, and the master that they watch is reached. "@FILE" reads the URL from a file, so that a password is in no process list. No error shows the password.
//
// Calls to a single server are not repeated by the client: the protocol of renewals does that, with a sequence number. The client of a cluster does
// repeat them, within the time that one call may take on a single server.
func Connect(ctx context.Context, address string) (redis.UniversalClient, error) {
	return connect(ctx, address, nil)
}

// connect is Connect. All connections of the client are those of the link; nil = they are its own.
func connect(ctx context.Context, address string, link *Link) (redis.UniversalClient, error) {
	if file, ok := strings.CutPrefix(address, "@"); ok {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the Redis URL: %w; after the @ comes the path of a file that holds it", err)
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

// Hint is what to check where nothing is known about why a server cannot be reached.
const Hint = "check --redis or LOADCTL_REDIS"

// hint is what to check about a server that cannot be reached.
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

// greet is one call that any server answers, or errNode. When ctx ends it returns at once: a call to a server that hangs goes by its deadline
// only, so its connection is closed.
func greet(ctx context.Context, client redis.UniversalClient) error {
	limit, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	hangUp := context.AfterFunc(ctx, func() { _ = client.Close() })
	defer hangUp()
	var err error
	switch c := client.(type) {
	case *redis.Client:
		err = ask(limit, c)
	case *redis.ClusterClient:
		err = meet(limit, c)
	case *Watched:
		err = meetSentinel(limit, c)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// errURL quotes nothing of the URL: what cannot be taken apart may be a password from end to end.
var errURL = errors.New("read the Redis URL: it is not of the form redis://[user:password@]host:port[/db], rediss://… or unix:///path; " +
	"write / ? # @ % in a password as %2F %3F %23 %40 %25")

// parseURL refuses what would be taken apart at the wrong place. An unescaped / ? or # in a password ends the host there: the rest,
// up to the @, would be a path, a query or a fragment, and be shown in errors about those.
func parseURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" || strings.Contains(address, "#") {
		return nil, errURL
	}
	query := u.Query()
	query.Del("sentinel_password") // the only password that belongs there
	_, err = url.QueryUnescape(u.RawQuery)
	if rest, _ := url.QueryUnescape(query.Encode()); err != nil || strings.Contains(rest, "@") || strings.Contains(u.RawQuery, "@") { // further nodes have the password of the first
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

// host is what may be shown of a URL: host and port, or the path of a socket.
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

// open makes the client that the URL asks for. It connects to nothing yet.
func open(u *url.URL, link *Link) (redis.UniversalClient, error) {
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
	o.PipelinePoolSize = -1 // or pipelines would have connections of their own
	link.share(o, redis.NewDialer(o))
	client := redis.NewClient(o)
	client.AddHook(replyLimit{})
	return client, nil
}

// unquoted is the library's error about a URL without what it quotes of it: a part that was taken apart at the wrong place may be a secret, also
// where it is the name of an option. Names of options in what is left are the library's own.
func unquoted(err error) error {
	known := regexp.MustCompile(`^redis: (invalid [a-z_]+ (?:number|duration|boolean)|invalid URL path|unexpected option|unable to parse addr param):`)
	if m := known.FindStringSubmatch(err.Error()); m != nil {
		return errors.New(m[1])
	}
	return errors.New("it cannot be read")
}

// misread is what is wrong with a part of a URL, and the form it should have.
func misread(u *url.URL, err error, form string) error {
	return fmt.Errorf("read the Redis URL of %s: %w; write %s", host(u), err, form)
}
