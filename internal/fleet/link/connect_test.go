package link

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// TestConnectErrorsShowNoPassword: not even if the password makes the URL invalid, so that it is split at the wrong
// place.
func TestConnectErrorsShowNoPassword(t *testing.T) {
	b := newBed(t)
	addr := redistest.Addr(b.client)
	if err := b.client.ConfigSet(t.Context(), "requirepass", "right").Err(); err != nil {
		t.Fatal(err)
	}
	closed := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	const form = "not of the form redis://"
	for address, says := range map[string]string{
		// Well formed.
		"redis://:hunter2@" + addr:                        "WRONGPASS",
		"redis://user:hunter2@" + addr:                    "WRONGPASS",
		"redis://hunter2:hunter3@" + addr + "/0":          "WRONGPASS",
		"redis://:hunter2%2Fhunter3@" + addr:              "WRONGPASS",
		"redis://:hunter2@hunter3@" + addr:                "WRONGPASS", // the last @ counts
		"redis://" + addr:                                 "NOAUTH",
		"redis://:hunter2@" + closed:                      "refused",
		"rediss://:hunter2@" + closed:                     "refused",
		"unix://:hunter2@/no/such/socket":                 "no such file",
		"redis://:hunter2@host.invalid:6379":              "reach Redis at host.invalid:6379",
		"redis://:hunter2@" + addr + "/db":                "invalid database number",
		"redis://" + addr + "/hunter2":                    "invalid database number; write redis://",
		"redis://" + addr + "?db=hunter2":                 "invalid database number; write redis://",
		"unix:///no/such/socket?db=hunter2":               "invalid database number",
		"redis://" + addr + "?hunter2":                    "unexpected option",
		"redis://" + addr + "?hunter2=1":                  "unexpected option",
		"redis://" + addr + "?pool_size=hunter2":          "invalid pool_size number",
		"redis://" + addr + "?pool_fifo=hunter2":          "invalid pool_fifo boolean",
		"redis://" + addr + "?dial_timeout=hunter2":       "invalid dial_timeout duration",
		"redis://" + addr + "?addr=hunter2":               "unable to parse addr",
		"redis://" + addr + "?addr=a:1&hunter2":           "unexpected option",
		"redis://" + addr + "?addr=a:1&db=hunter2":        "a cluster has only database 0",
		"redis://:hunter2@" + addr + "/0/hunter3":         "invalid URL path",
		"redis://:hunter2@" + addr + "/0/1":               "invalid URL path",
		"redis://:hunter2@" + addr + "?what=1":            "unexpected option",
		"redis://:hunter2@" + addr + "?read_timeout=long": "invalid read_timeout",
		"redis://:hunter2@" + closed + "?addr=" + closed:  "refused",
		"redis://:hunter2@" + closed + "?addr=nonsense":   "unable to parse addr",
		// Not well formed.
		"":                                    form,
		"hunter2":                             form,
		addr:                                  form,
		"http://:hunter2@" + addr:             form,
		"redis:hunter2":                       form,
		"redis://:hunter2 @" + addr:           form,
		"redis://:hunter2%zz@" + addr:         form,
		"redis://:hunter2@" + addr + "x":      form,
		"redis://:hunter2@[::1":               form,
		"redis://:hunter2\n@" + addr:          form,
		"redis://:hunter2/hunter3@" + addr:    form,
		"redis://:12/hunter3@" + addr:         form,
		"redis://:12/hunter3@" + addr + "/0":  form,
		"redis://:12?hunter3@" + addr:         form,
		"redis://:12#hunter3@" + addr:         form,
		"redis://:12?addr=hunter3@" + addr:    form,
		"unix://:12/hunter3@/tmp/socket":      form,
		"unix://hunter2":                      form,
		"redis+sentinel://:hunter2@" + closed: form,
	} {
		client, err := Connect(t.Context(), address)
		if err == nil {
			t.Errorf("%s: connected", address)
			_ = client.Close()
			continue
		}
		b.wants(err, nil, says)
		if !strings.Contains(err.Error(), "Redis") {
			t.Errorf("%s: %q does not say what it is about", address, err)
		}
	}
}

func TestConnect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	server := redistest.Start(t, "--unixsocket", socket, "--requirepass", "p@ss/word")
	secret := url.UserPassword("", "p@ss/word").String()
	file := filepath.Join(dir, "url")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("  redis://" + secret + "@" + server.Addr() + "/3\n\n")
	for _, address := range []string{"@" + file, "redis://" + secret + "@" + server.Addr() + "/3", "unix://" + secret + "@" + socket + "?db=3"} {
		client, err := Connect(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		one, ok := client.(*redis.Client)
		if !ok || one.Options().DB != 3 || one.Options().MaxRetries != 0 || !one.Options().ContextTimeoutEnabled {
			t.Errorf("%s: %T %+v", address, client, client)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
	b := &bed{T: t}
	for _, text := range []string{"", "hunter2", "@" + file, "redis://:hunter2@a\nredis://:hunter3@b"} {
		write(text)
		_, err := Connect(t.Context(), "@"+file)
		b.wants(err, nil, "not of the form redis://")
	}
	_, err := Connect(t.Context(), "@"+file+"x")
	b.wants(err, os.ErrNotExist, "read the Redis URL", file)
}

// TestConnectToEither: both kinds of server answer the calls that open a connection.
func TestConnectToEither(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		client, err := Connect(t.Context(), redistest.URL(b.client))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		if err := client.Set(t.Context(), "x", "1", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if got := b.client.Get(t.Context(), "x").Val(); got != "1" {
			t.Errorf("%q", got)
		}
	})
}

// TestClusterURL: a URL with further nodes makes a client of a cluster. This test connects to no server.
func TestClusterURL(t *testing.T) {
	u, err := parseURL("rediss://user:hunter2@a:7000?addr=b:7001&addr=c:7002")
	if err != nil {
		t.Fatal(err)
	}
	client, err := open(u, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		t.Fatalf("%T", client)
	}
	o := cluster.Options()
	if fmt.Sprint(o.Addrs) != "[a:7000 b:7001 c:7002]" || o.Password != "hunter2" || o.TLSConfig == nil || !o.ContextTimeoutEnabled {
		t.Errorf("%+v", o)
	}
	if host(u) != "a:7000" {
		t.Errorf("shown as %s", host(u))
	}
}

// TestConnectWithoutRoom: a server that has no room for another client closes the connection at once. The error has its
// words, however the two race.
func TestConnectWithoutRoom(t *testing.T) {
	b := newBed(t)
	if err := b.client.ConfigSet(t.Context(), "maxclients", "1").Err(); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		_, err := Connect(t.Context(), "redis://"+redistest.Addr(b.client))
		if err == nil || !Temporary(err) || !strings.HasSuffix(err.Error(), "max number of clients reached; raise its maxclients, or end other clients") {
			t.Fatal(err)
		}
	}
}
