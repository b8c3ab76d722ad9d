package files

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
)

// withFile returns a spec with a data file, and the file.
func withFile(t *testing.T, content string) (spec.Spec, Files) {
	t.Helper()
	table, err := rows.Read("users.csv", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	s := spec.Spec{QPS: pacer.PerSecond(100), MinWorkers: 1, MaxLag: spec.DefaultMaxLag, CatchUp: spec.DefaultCatchUp}
	s.Target.URL = "http://127.0.0.1/${users.name}"
	s.Target.Data = []rows.Source{{Name: "users", Columns: table.Columns(), Rows: table.Rows(), Pick: rows.Cycle, SHA256: table.SHA256(), Bytes: table.Bytes()}}
	return s, Files{table.SHA256(): {Name: "users.csv", Content: []byte(content)}}
}

// cell returns the first cell of the only file.
func cell(tables targets.Tables) string {
	for _, t := range tables {
		return t.Cell(0, 0)
	}
	return ""
}

// create creates or joins the run x.
func create(t *testing.T, client rdb.Client, s spec.Spec) *run.Run {
	t.Helper()
	r, _, err := run.Create(t.Context(), client, "x", s, run.Options{Keep: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFilesTravelWithTheRun: a worker that joins by name gets the files from Redis, for as long as the run lives there.
// They go with the run.
func TestFilesTravelWithTheRun(t *testing.T) {
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		s, files := withFile(t, "name\nAnn\n")
		r := create(t, client, s)
		for range 2 { // two workers may store them
			if err := files.Store(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		joined, err := run.Open(t.Context(), client, "x")
		if err != nil {
			t.Fatal(err)
		}
		if tables, err := Tables(t.Context(), joined); err != nil || cell(tables) != "Ann" {
			t.Errorf("%v, %v", tables, err)
		}
		if left := client.PTTL(t.Context(), r.Keys.Data).Val(); left < 59*time.Minute || left > time.Hour {
			t.Errorf("the files live %v", left)
		}
		if err := run.Remove(t.Context(), client, "x", true); err != nil {
			t.Fatal(err)
		}
		if n := client.Exists(t.Context(), r.Keys.Data).Val(); n != 0 {
			t.Error("the files are still there")
		}
	})
}

// TestMissingFiles: a worker waits for a file, until it is given up; damaged and large ones are errors. A worker that was
// given a file stores it if nobody else has.
func TestMissingFiles(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client()
	s, files := withFile(t, "name\nAnn\n")
	r := create(t, client, s) // its creator died before it could store the file
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if _, err := Tables(ctx, r); !errors.Is(err, gone) {
		t.Error(err)
	}
	l, err := link.New(t.Context(), server.URL(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go files.Restore(t.Context(), r, l)
	if tables, err := Tables(t.Context(), r); err != nil || cell(tables) != "Ann" {
		t.Error(tables, err)
	}
	client.HSet(t.Context(), r.Keys.Data, s.Target.Data[0].SHA256, "users.csv\nname\nBo\n")
	if _, err := Tables(t.Context(), r); err == nil || !strings.Contains(err.Error(), "data file users in Redis is damaged; create the run again") {
		t.Error(err)
	}
	r.Spec.Target.Data[0].Bytes = Most + 1
	if _, err := Tables(t.Context(), r); err == nil || !strings.Contains(err.Error(), "data file users is larger than 16 MiB, so Redis does not have it: copy it") {
		t.Error(err)
	}
}
