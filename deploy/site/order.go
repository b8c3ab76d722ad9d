package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// part is a part of the contents, which every page shows.
type part struct {
	Title string
	Pages []entry
}

type entry struct{ Title, Out string }

// chapters are the documents in the order of the contents. Decisions come after them.
func chapters() []struct{ title, files string } {
	return []struct{ title, files string }{
		{"Start", "README.md docs/install.md docs/tutorial.md docs/recipes.md"},
		{"Use", "docs/workloads.md docs/protocols.md docs/http2.md docs/http3.md docs/grpc.md docs/websocket.md docs/streams.md docs/extend.md docs/report.md docs/samples.md docs/try.md docs/tracing.md docs/live.md " +
			"docs/search.md docs/budgets.md docs/max.md docs/limiters.md docs/target.md"},
		{"Operate", "docs/deploy.md docs/outages.md docs/metrics.md docs/upgrade.md"},
		{"Look up", "docs/flags.md docs/exit-codes.md docs/json.md docs/api.md docs/GLOSSARY.md CHANGELOG.md"},
		{"How it works", "docs/guarantees.md docs/ARCHITECTURE.md docs/benchmarks.md docs/chaos.md docs/pairs.md docs/tests.md docs/comparison.md CONTRIBUTING.md"},
	}
}

// order returns the contents of the site. It is an error if a document is not in them, or if they name one that is gone.
func order(pages map[string]*page) ([]part, error) {
	left := maps.Clone(pages)
	take := func(title string, files ...string) (p part, err error) {
		p.Title = title
		for _, file := range files {
			if left[file] == nil {
				return p, fmt.Errorf("the contents (order.go) list %s, and there is no such document", file)
			}
			p.Pages = append(p.Pages, entry{left[file].title, left[file].out})
			delete(left, file)
		}
		return p, nil
	}
	var all []part
	for _, c := range chapters() {
		next, err := take(c.title, strings.Fields(c.files)...)
		if err != nil {
			return nil, err
		}
		all = append(all, next)
	}
	decisions := slices.DeleteFunc(slices.Sorted(maps.Keys(left)), func(file string) bool { return !strings.HasPrefix(file, "docs/adr/") })
	last, err := take("Decisions", decisions...)
	if err != nil {
		return nil, err
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("not in the contents: %s; add them in order.go", strings.Join(slices.Sorted(maps.Keys(left)), ", "))
	}
	return append(all, last), nil
}
