package doctor

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
)

// serverCheck is one check of a server.
type serverCheck struct {
	name string
	look func(context.Context, *server) Finding
}

// serverChecks returns all checks, in the order in which they are made and shown.
func serverChecks() []serverCheck {
	return []serverCheck{
		{"reachable", reachable},
		{"version", version},
		{"role", role},
		{"round trip", roundTrip},
		{"clock", clock},
		{"eviction", eviction},
		{"memory", memory},
		{"connections", connections},
		{"persistence", persistence},
		{"replication", replication},
		{"identity", identity},
		{"wake-ups", wakeUps},
		{"scripts", scripts},
		{"budgets", budgets},
	}
}

// Redis checks a server, with its Sentinels if it has any. Of a cluster it checks each master, and reports the worst
// finding of each check. If the server stops answering, Redis skips the remaining checks. It returns at most 2 s after
// ctx has ended, if the client obeys contexts, as link.Connect's do.
//
// expected is how many workers are to connect; 0 = not given.
func Redis(ctx context.Context, client rdb.Client, expected int) []Finding {
	findings, checks := certificate(client), serverChecks()
	switch c := client.(type) {
	case *redis.ClusterClient:
		return append(findings, inspectCluster(ctx, c, expected)...)
	case *link.Watched:
		checks = sentinelChecks(c, expected)
	}
	return append(findings, inspect(ctx, &server{node: client, whole: client, expected: expected}, checks)...)
}

func inspect(ctx context.Context, s *server, checks []serverCheck) []Finding {
	var findings []Finding
	for _, c := range checks {
		findings = append(findings, c.look(ctx, s).of(c.name))
		if s.silent {
			break
		}
	}
	return findings
}

// server is the input of the server checks. It is for one goroutine.
type server struct {
	node   rdb.Client // one process
	whole  rdb.Client // where runs are: the same, or the cluster of the node
	silent bool       // it has stopped answering

	expected int // workers; 0 = not given

	info map[string]string // the reply to INFO; nil = not asked yet
}

// errNoValue: INFO is allowed but lacks the value. Some servers only resemble Redis.
var errNoValue = errors.New("the server does not say")

// field returns a value of INFO.
func (s *server) field(ctx context.Context, name string) (string, error) {
	if s.info == nil {
		text, err := s.node.Info(ctx).Result()
		if err != nil {
			return "", err
		}
		s.info = parseInfo(text)
	}
	if value, told := s.info[name]; told {
		return value, nil
	}
	return "", errNoValue
}

func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, is := strings.Cut(strings.TrimSpace(line), ":"); is {
			info[name] = value
		}
	}
	return info
}

// setting returns a value of CONFIG.
func (s *server) setting(ctx context.Context, name string) (string, error) {
	values, err := s.node.ConfigGet(ctx, name).Result()
	if err != nil {
		return "", err
	}
	if value, told := values[name]; told {
		return value, nil
	}
	return "", errNoValue
}

// either returns a setting that INFO has too, from whichever is allowed.
func (s *server) either(ctx context.Context, name string) (string, error) {
	value, err := s.field(ctx, strings.ReplaceAll(name, "-", "_"))
	if err == nil {
		return value, nil
	}
	if value, second := s.setting(ctx, name); second == nil {
		return value, nil
	}
	return "", err
}

// unclear returns the finding of a check that did not get the answer it needs.
func (s *server) unclear(err error) Finding {
	if errors.Is(err, errNoValue) {
		return ok("unknown, the server does not say")
	}
	if _, refused := errors.AsType[redis.Error](err); refused {
		return warn("unknown: "+err.Error(), remedy(err, "look it up in the server's configuration"))
	}
	s.silent = true
	return bad("no answer: "+err.Error(), "find out what blocks the server; the remaining checks were skipped")
}
