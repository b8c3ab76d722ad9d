package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/mux"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
)

// Watched is a client of the master that Sentinels name. When they name another master, it moves there.
//
// The failover client of the library hears of a new master from one Sentinel only. The Sentinel that leads a failover
// tells it last, after all replicas have followed. Clients of that Sentinel stayed with the old master for a second
// or more, and two masters grant twice the rate. Watched listens to all Sentinels and follows the majority.
type Watched struct {
	*redis.Client
	Name      string // of the master
	Sentinels []Sentinel
	watch     *watch
}

// Sentinel is one of those that watch a master. Calls and messages share one connection to it.
type Sentinel struct {
	*redis.SentinelClient
	Addr  string // host:port
	lines *mux.Dialer
}

// newSentinel returns the Sentinel at an address. Its user and password are not those of the master.
func newSentinel(addr, user, password string, master *redis.Options) Sentinel {
	o := &redis.Options{
		Addr: addr, Username: user, Password: password, TLSConfig: master.TLSConfig, Protocol: 3, DisableIdentity: true,
		MaxRetries: -1, DialerRetries: 1, DialTimeout: askPatience, ContextTimeoutEnabled: true, PipelinePoolSize: -1,
	}
	lines := mux.New(redis.NewDialer(o))
	o.Dialer = lines.Dial
	client := redis.NewSentinelClient(o)
	client.AddHook(refusals{})
	return Sentinel{Addr: addr, SentinelClient: client, lines: lines}
}

// subscribe makes the Sentinel tell each change. The Sentinel that leads a failover says +promoted-slave first, and
// +switch-master at the end. The others say +switch-master at once.
func (s Sentinel) subscribe(ctx context.Context) error {
	err := s.Ping(ctx).Err()
	if err == nil && !s.lines.RESP3() {
		err = errors.New("Sentinel does not speak RESP3")
	}
	for _, event := range []string{"+switch-master", "+promoted-slave"} {
		if err == nil {
			err = s.Process(ctx, redis.NewCmd(ctx, "subscribe", event))
		}
	}
	return err
}

// Close ends the connection.
func (s Sentinel) Close() error { return errors.Join(s.SentinelClient.Close(), s.lines.Close()) }

// Master returns the address of the master; "" = unknown.
func (w *Watched) Master() string { return w.watch.leader() }

// Close ends all connections.
func (w *Watched) Close() error {
	w.watch.end()
	err := w.Client.Close()
	for _, s := range w.Sentinels {
		err = errors.Join(err, s.Close())
	}
	w.watch.all.Wait()
	return err
}

// sentinelForm is how a URL names the master that Sentinels watch.
const sentinelForm = "redis://[user:password@]sentinel:26379[/db]?master_name=NAME&addr=sentinel2:26379&addr=sentinel3:26379"

// openSentinel returns a client of the master that the URL names. The URL lists its Sentinels. User, password and
// database are those of the master. A password of the Sentinels is another part of the URL.
func openSentinel(u *url.URL, link *Link) (rdb.Client, error) {
	query := u.Query()
	addrs, err := sentinelAddrs(u, query)
	if err != nil {
		return nil, misread(u, err, sentinelForm)
	}
	w := &Watched{Name: query.Get("master_name")}
	user, password := query.Get("sentinel_username"), query.Get("sentinel_password")
	for _, own := range []string{"master_name", "addr", "sentinel_username", "sentinel_password"} {
		query.Del(own)
	}
	master := *u
	master.RawQuery = query.Encode()
	o, err := redis.ParseURL(master.String())
	if err != nil {
		return nil, misread(u, unquoted(err), sentinelForm)
	}
	o.MaxRetries, o.ContextTimeoutEnabled = -1, true
	o.PipelinePoolSize = -1 // else pipelines would have connections of their own
	for _, addr := range addrs {
		w.Sentinels = append(w.Sentinels, newSentinel(addr, user, password, o))
	}
	w.watch = newWatch(w.Name, w.Sentinels, redis.NewDialer(o))
	o.Addr, o.Dialer = w.Name, w.watch.dial
	share(link, o, w.watch.dial)
	w.Client = redis.NewClient(o)
	w.AddHook(refusals{})
	return w, nil
}

// sentinelAddrs returns the addresses of the Sentinels.
func sentinelAddrs(u *url.URL, query url.Values) ([]string, error) {
	switch {
	case u.Scheme == "unix":
		return nil, errors.New("Sentinel needs host and port, not a socket")
	case strings.TrimSpace(query.Get("master_name")) == "":
		return nil, errors.New("master_name is empty")
	}
	host, port := u.Hostname(), u.Port()
	if host == "" {
		host = "localhost"
	}
	if port == "" {
		port = "26379"
	}
	addrs := []string{net.JoinHostPort(host, port)}
	for _, addr := range query["addr"] {
		host, port, err := net.SplitHostPort(addr)
		// It may be a password, and an address is shown.
		if err != nil || host == "" || port == "" || strings.ContainsAny(addr, "%@/ ") {
			return nil, errors.New("an addr is not of the form host:port")
		}
		if !slices.Contains(addrs, addr) {
			addrs = append(addrs, addr)
		}
	}
	return addrs, nil
}

// greetSentinel asks for the master first, so that the master's own errors do not hide what Sentinel says. Then it
// greets the master.
func greetSentinel(ctx context.Context, w *Watched) error {
	if _, err := w.watch.locate(ctx); err != nil {
		return err
	}
	if err := w.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("master %s at %s: %w", w.Name, w.Master(), err)
	}
	return nil
}

// askSentinel asks one Sentinel where the master is.
func askSentinel(ctx context.Context, s Sentinel, name string) (string, error) {
	reply, err := s.GetMasterAddrByName(ctx, name).Result()
	if err == nil && len(reply) == 2 {
		return net.JoinHostPort(reply[0], reply[1]), nil
	}
	_, refused := errors.AsType[redis.Error](err)
	refuse := func(mend string) error {
		return refusal{fmt.Errorf("Sentinel at %s: %s", s.Addr, err.Error()), advice{mend: mend, url: true}}
	}
	switch {
	case err == nil || errors.Is(err, redis.Nil):
		return "", refusal{fmt.Errorf("Sentinel at %s watches no master named %q", s.Addr, name), advice{mend: "give the right master_name: SENTINEL MASTERS lists them", url: true}}
	case !refused:
		return "", fmt.Errorf("ask Sentinel at %s: %w", s.Addr, err)
	case strings.Contains(err.Error(), "nknown command"):
		return "", refuse("that server is no Sentinel: give Sentinel's port, or leave master_name out")
	case strings.Contains(err.Error(), "NOPERM"):
		return "", refuse("allow that user +sentinel|get-master-addr-by-name")
	case strings.Contains(err.Error(), "without any password configured"):
		return "", refuse("Sentinel has no password: leave sentinel_password out")
	default: // NOAUTH, WRONGPASS
		return "", refuse("give Sentinel's own user and password: ?sentinel_username=USER&sentinel_password=PASSWORD")
	}
}

// errSentinel: the URL names a Sentinel in place of a server.
func errSentinel() error {
	return refusal{errors.New("the server is a Sentinel"), advice{mend: "name the master that it watches: redis://host:26379?master_name=NAME", url: true}}
}

// clearest returns one error of several Sentinels. A refusal tells more than a failed connection.
func clearest(errs []error) error {
	for _, err := range errs {
		if _, refused := errors.AsType[refusal](err); refused {
			return err
		}
	}
	return errs[0]
}
