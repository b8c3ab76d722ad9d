package loadworker

import (
	"errors"
	"fmt"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli/clitest"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// waiting creates the run "there", which waits for two workers.
func waiting(t *testing.T, client rdb.Client) {
	t.Helper()
	if _, _, err := run.Create(t.Context(), client, "there", specOf(t, described()[3:]...), run.Options{}); err != nil {
		t.Fatal(err)
	}
}

// described is the command line of a worker that creates or finds the run "there"; joining is that of a worker that
// knows only its name.
func described() []string {
	return []string{"run", "--run", "there", "--url", "noop://", "--qps", "10", "--min-workers", "2"}
}
func joining() []string { return []string{"run", "--run", "there", "--allow-any"} }

// TestServersThatRefuse: a worker that could never take part says so and does not wait.
func TestServersThatRefuse(t *testing.T) {
	for _, s := range clitest.Servers(t, func(client rdb.Client) { waiting(t, client) }) {
		t.Run(s.Name, func(t *testing.T) {
			t.Setenv("LOADCTL_REDIS", s.URL)
			lines := [][]string{described(), append(described(), "--run", "other")}
			if !s.Empty {
				lines = append(lines, joining(), append(joining(), "--wait"))
			}
			var all []clitest.Refusal
			for _, args := range lines {
				all = append(all, clitest.Refusal{Args: args, Says: s.Says})
			}
			clitest.RefusedAll(t, newPlainCommand, s.Client, all)
		})
	}
}

// TestBrokenRuns: a worker does not join a run with damaged data, and does no further damage.
func TestBrokenRuns(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	t.Setenv("LOADCTL_REDIS", server.URL())
	keys := run.KeysOf("there")
	const remove = "its state in Redis is damaged"
	harm := map[string]func() error{
		"spec gone":    func() error { return client.Del(t.Context(), keys.Spec).Err() },
		"budget gone":  func() error { return client.Del(t.Context(), keys.Budget).Err() },
		"spec foreign": func() error { return client.Set(t.Context(), keys.Spec, secret, 0).Err() },
		"spec too new": func() error {
			return client.Set(t.Context(), keys.Spec, fmt.Sprintf(`{"version":%d,"qps":[]}`, spec.Version+1), 0).Err()
		},
		"spec no spec": func() error {
			return client.Set(t.Context(), keys.Spec, fmt.Sprintf(`{"version":%d,"qps":%q}`, spec.Version, secret), 0).Err()
		},
		"spec no object": func() error { return client.Set(t.Context(), keys.Spec, `["`+secret+`"]`, 0).Err() },
	}
	for _, key := range []string{keys.Budget, keys.Workers, keys.Due, keys.ByLoad, keys.Unowned, keys.Laws, keys.Log, keys.Totals, keys.Snapshots, keys.Events, keys.Series} {
		harm[key+" a string"] = func() error { return client.Set(t.Context(), key, secret, 0).Err() }
	}
	harm[keys.Spec+" a list"] = func() error {
		return errors.Join(client.Del(t.Context(), keys.Spec).Err(), client.LPush(t.Context(), keys.Spec, secret).Err())
	}
	for name, harm := range harm {
		t.Run(name, func(t *testing.T) {
			client.FlushDB(t.Context())
			waiting(t, client)
			if err := harm(); err != nil {
				t.Fatal(err)
			}
			says := []string{"run there: ", remove, "; loadctl rm there removes what is there"}
			if name == "spec too new" {
				says = []string{fmt.Sprintf("run there: its state in Redis is of a newer version, %d, and this program needs %d; use a newer loadctl and loadworker", spec.Version+1, spec.Version)}
			}
			clitest.RefusedAll(t, newPlainCommand, client, []clitest.Refusal{
				{Args: described(), Says: says}, {Args: append(described(), "--new"), Says: says}, {Args: joining(), Says: says}, {Args: append(joining(), "--wait"), Says: says},
			})
		})
	}
}
