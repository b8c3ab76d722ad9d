package ui

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/results"
)

// TestRoutesAreDocumented: docs/schema/openapi.json has the routes of the server, and no others.
func TestRoutesAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/schema/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var api struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(text, &api); err != nil {
		t.Fatal(err)
	}
	var documented, served []string
	for path, methods := range api.Paths {
		for method := range methods {
			documented = append(documented, strings.ToUpper(method)+" "+path)
		}
	}
	none := func(func(context.Context) ([]results.Look, error)) http.Handler { return http.NotFoundHandler() }
	s, err := New(Options{Key: NewKey(), Metrics: none})
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	for _, r := range s.table() {
		served = append(served, r.method+" "+r.path)
	}
	slices.Sort(documented)
	slices.Sort(served)
	if !slices.Equal(documented, served) {
		t.Errorf("documented:\n%s\nserved:\n%s", strings.Join(documented, "\n"), strings.Join(served, "\n"))
	}
}

// TestFilesHaveOneName: the page's own files hide none that it shares with reports.
func TestFilesHaveOneName(t *testing.T) {
	t.Parallel()
	own, err := web.ReadDir("web")
	if err != nil || len(own) == 0 {
		t.Fatal(err)
	}
	for _, f := range own {
		for _, folder := range []string{"../../output/page/web/", "../../output/page/uplot/"} {
			if _, err := os.Stat(folder + f.Name()); err == nil {
				t.Errorf("web/%s hides %s%s", f.Name(), folder, f.Name())
			}
		}
	}
}
