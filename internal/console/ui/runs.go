package ui

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report/render"
)

// A listing is what can be shown.
type listing struct {
	Control  bool           `json:"control"`
	Version  string         `json:"version"`
	Runs     []run.Entry    `json:"runs"` // as loadctl ls -o json has them, oldest first
	Archives []ArchiveEntry `json:"archives"`
	Error    string         `json:"error,omitempty"` // why the runs cannot be read; absent = they were
}

// list answers with all runs and archives. Without Redis there are no runs, and Error says why.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	l := listing{Control: s.Control, Version: s.Version, Runs: []run.Entry{}, Archives: s.archives()}
	runs, err := s.runs.get(r.Context())
	if err != nil {
		l.Error = oneLine(err)
	} else if runs != nil {
		l.Runs = runs
	}
	answer(w, l)
}

// look returns what is seen of the run that a request names. When it returns false, the request is answered.
func (s *Server) look(w http.ResponseWriter, r *http.Request) (sight, bool) {
	watcher, err := s.hub.watcher(r.Context(), r.PathValue("run"), s.hub.linger)
	if err != nil {
		fail(w, err)
		return sight{}, false
	}
	seen, err := watcher.await(r.Context())
	if err == nil && seen.look == nil {
		err = seen.err
	}
	if err != nil {
		fail(w, err)
		return sight{}, false
	}
	return seen, true
}

// oneRun answers with a whole frame of a run.
func (s *Server) oneRun(w http.ResponseWriter, r *http.Request) {
	seen, ok := s.look(w, r)
	if !ok {
		return
	}
	text, err := seen.whole()
	if err != nil {
		fail(w, err)
		return
	}
	send(w, http.StatusOK, text)
}

// A fleetPage is a part of the processes of a run.
type fleetPage struct {
	Total   int              `json:"total"`
	States  map[string]int   `json:"states"`
	Workers []results.Member `json:"workers"`
}

// workers answers with the processes of a run, present ones first: all, or limit of them from offset on.
func (s *Server) workers(w http.ResponseWriter, r *http.Request) {
	offset, err := number(r, "offset", 0)
	limit, errLimit := number(r, "limit", -1)
	if err != nil || errLimit != nil {
		refuse(w, http.StatusBadRequest, "offset and limit are numbers from 0 on")
		return
	}
	seen, ok := s.look(w, r)
	if !ok {
		return
	}
	fleet := seen.look.Fleet()
	p := fleetPage{Total: len(fleet), States: states(fleet)}
	p.Workers = fleet[min(offset, len(fleet)):]
	if limit >= 0 {
		p.Workers = p.Workers[:min(limit, len(p.Workers))]
	}
	answer(w, p)
}

// number reads a parameter of the query that is at least 0.
func number(r *http.Request, name string, without int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return without, nil
	}
	n, err := strconv.Atoi(text)
	if err == nil && n < 0 {
		err = strconv.ErrRange
	}
	return n, err
}

// report answers with the report as loadctl report -o FORMAT prints it. Formats that browsers would show as a page are
// saved instead: a report has scripts of its own, which may not run beside this page.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	format := r.URL.Query().Get("format")
	if format == "" {
		format = "json"
	}
	write, err := render.Format(format)
	if err != nil {
		refuse(w, http.StatusBadRequest, oneLine(err))
		return
	}
	rep, err := s.hub.report(r.Context(), r.PathValue("run"))
	if err != nil {
		fail(w, err)
		return
	}
	var text bytes.Buffer
	if err := write(&text, rep); err != nil {
		fail(w, err)
		return
	}
	kind, ending := "application/octet-stream", "."+format
	switch format {
	case "json":
		kind = "application/json"
	case "text", "csv", "markdown":
		kind = "text/plain; charset=utf-8"
	case "archive":
		ending = ".loadctl"
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	if kind == "application/octet-stream" {
		h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s%s"`, rep.Run, ending))
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writePatience))
	_, _ = w.Write(text.Bytes()) // the client may have gone
}
