package ui

import (
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/internal/output/page"
)

//go:embed web
var web embed.FS

// A route is one thing that the server answers. docs/schema/openapi.json has them all.
type route struct {
	method, path string
	serve        http.HandlerFunc
}

// table lists all routes.
func (s *Server) table() []route {
	all := []route{
		{"GET", "/", s.known(s.shell)},
		{"GET", "/login", s.login},
		{"GET", "/web/{name}", s.known(s.file)},
		{"GET", "/api/v1/runs", s.known(s.list)},
		{"GET", "/api/v1/runs/{run}", s.known(s.oneRun)},
		{"GET", "/api/v1/runs/{run}/live", s.known(s.live)},
		{"GET", "/api/v1/runs/{run}/workers", s.known(s.workers)},
		{"GET", "/api/v1/runs/{run}/report", s.known(s.report)},
		{"GET", "/api/v1/runs/{run}/samples", s.known(s.samples)},
		{"GET", "/api/v1/archives/{name}", s.known(s.archive)},
		{"GET", "/api/v1/archives/{name}/samples", s.known(s.archivedSamples)},
		{"GET", "/api/v1/compare", s.known(s.compare)},
		{"GET", "/api/v1/budgets", s.known(s.listBudgets)},
		{"POST", "/api/v1/budgets/{budget}/rate", s.budget(setBudget)},
		{"POST", "/api/v1/budgets/{budget}/freeze", s.budget(freeze)},
		{"POST", "/api/v1/budgets/{budget}/thaw", s.budget(thaw)},
		{"POST", "/api/v1/runs/{run}/rate", s.command(setRate)},
		{"POST", "/api/v1/runs/{run}/pause", s.command(pause)},
		{"POST", "/api/v1/runs/{run}/resume", s.command(resume)},
		{"POST", "/api/v1/runs/{run}/stop", s.command(stop)},
		{"POST", "/api/v1/runs/{run}/start", s.command(start)},
		{"POST", "/api/v1/runs/{run}/workers/{worker}/remove", s.command(remove)},
	}
	if s.Metrics != nil {
		all = append(all, route{"GET", "/metrics", s.metrics(s.Metrics(s.hub.Looks))})
	}
	return all
}

// routes returns the handler of all routes. Another method than that of a path gets 405, another path 404.
func (s *Server) routes() (http.Handler, error) {
	mux := http.NewServeMux()
	for _, r := range s.table() {
		pattern := r.path
		if pattern == "/" {
			pattern = "/{$}"
		}
		mux.HandleFunc(pattern, func(w http.ResponseWriter, q *http.Request) {
			if q.Method != r.method && (q.Method != "HEAD" || r.method != "GET" || r.path == "/login") {
				w.Header().Set("Allow", r.method)
				refuse(w, http.StatusMethodNotAllowed, fmt.Sprintf("use %s for this address", r.method))
				return
			}
			r.serve(w, q)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "there is no such page") })
	return mux, nil
}

// shell serves the page.
func (s *Server) shell(w http.ResponseWriter, r *http.Request) { s.embedded(w, r, "index.html") }

// file serves a module or a style of the page.
func (s *Server) file(w http.ResponseWriter, r *http.Request) { s.embedded(w, r, r.PathValue("name")) }

// embedded serves a file that is part of the program.
func (s *Server) embedded(w http.ResponseWriter, _ *http.Request, name string) {
	text, err := content(name)
	if err != nil {
		refuse(w, http.StatusNotFound, "there is no such file")
		return
	}
	w.Header().Set("Content-Type", contentType(name))
	_, _ = w.Write(text) // the client may have gone
}

// content returns a file of the page: its own, or one that reports share.
func content(name string) ([]byte, error) {
	if strings.ContainsAny(name, `/\`) || strings.HasPrefix(name, ".") {
		return nil, fs.ErrNotExist
	}
	text, err := fs.ReadFile(web, path.Join("web", name))
	for _, folder := range []string{"web", "uplot"} {
		if err != nil {
			text, err = fs.ReadFile(page.Files(), path.Join(folder, name))
		}
	}
	return text, err
}

// contentType returns the type of a file by its name.
func contentType(name string) string {
	types := []struct{ ending, is string }{
		{".html", "text/html; charset=utf-8"},
		{".js", "text/javascript; charset=utf-8"},
		{".css", "text/css; charset=utf-8"},
		{".svg", "image/svg+xml"},
	}
	if i := slices.IndexFunc(types, func(t struct{ ending, is string }) bool { return strings.HasSuffix(name, t.ending) }); i >= 0 {
		return types[i].is
	}
	return "text/plain; charset=utf-8"
}
