package ui

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report"
)

// An Archive is a report that a file holds.
type Archive struct {
	Name   string
	Report report.Report
}

// ArchiveEntry is one archive in a list.
type ArchiveEntry struct {
	Name      string    `json:"name"`
	Run       string    `json:"run"`
	StartedAt time.Time `json:"started_at"`
	DurationS float64   `json:"duration_s"`
}

// errNoArchive says that an archive was not named.
var errNoArchive = errors.New("there is no such archive; name it on the command line of loadctl ui")

// ArchiveName returns the name of the archive in a file: that of the file without its extension.
func ArchiveName(path string) string {
	return strings.TrimSuffix(filepath.Base(path), report.ArchiveExtension)
}

// archives lists the archives.
func (s *Server) archives() []ArchiveEntry {
	all := []ArchiveEntry{}
	for _, a := range s.Archives {
		all = append(all, ArchiveEntry{a.Name, a.Report.Run, a.Report.StartedAt, a.Report.DurationS})
	}
	return all
}

// archived returns the report of an archive.
func (s *Server) archived(name string) (report.Report, error) {
	i := slices.IndexFunc(s.Archives, func(a Archive) bool { return a.Name == name })
	if i < 0 {
		return report.Report{}, fmt.Errorf("archive %.100q: %w", name, errNoArchive)
	}
	return s.Archives[i].Report, nil
}

// archive answers with the frame of an archive.
func (s *Server) archive(w http.ResponseWriter, r *http.Request) {
	rep, err := s.archived(r.PathValue("name"))
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, archiveFrame(rep))
}

// archiveFrame returns the frame of a report that does not change. An archive has no commands.
func archiveFrame(rep report.Report) Frame {
	state := &run.State{Run: rep.Run, Phase: "ended", StartedAt: rep.StartedAt}
	f := NewFrame(results.Look{Progress: results.Progress{State: state, Settled: true}, Report: rep}, false)
	if f.At = rep.StartedAt; !rep.StartedAt.IsZero() {
		f.At = rep.StartedAt.Add(time.Duration(rep.DurationS * float64(time.Second)))
		f.EndedAt = f.At
	}
	return f
}
