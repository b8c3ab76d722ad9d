package run

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/spec"
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
	s := constant(100)
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

// TestFilesTravelWithTheRun: a worker that joins by name gets the files from Redis, for as long as the run lives there.
// They go with the run.
func TestFilesTravelWithTheRun(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		s, files := withFile(t, "name\nAnn\n")
		r, _ := b.create("x", s, Options{Files: files, Keep: time.Hour})
		joined, err := Open(t.Context(), b.client, "x")
		if err != nil {
			t.Fatal(err)
		}
		if tables, err := joined.Tables(t.Context()); err != nil || cell(tables) != "Ann" {
			t.Errorf("%v, %v", tables, err)
		}
		if left := b.client.PTTL(t.Context(), r.Keys.Data).Val(); left < 59*time.Minute || left > time.Hour {
			t.Errorf("the files live %v", left)
		}
		b.create("x", s, Options{Files: files}) // another worker with the same description
		if err := Remove(t.Context(), b.client, "x", true); err != nil {
			t.Fatal(err)
		}
		if n := b.client.Exists(t.Context(), r.Keys.Data).Val(); n != 0 {
			t.Error("the files are still there")
		}
	})
}

// TestMissingFiles: a worker waits for a file, until it is given up; damaged and large ones are errors.
func TestMissingFiles(t *testing.T) {
	b := newBed(t)
	s, files := withFile(t, "name\nAnn\n")
	r, _ := b.create("x", s, Options{}) // its creator died before it could store the file
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if _, err := r.Tables(ctx); !errors.Is(err, gone) {
		t.Error(err)
	}
	late := make(chan error)
	go func() {
		tables, err := r.Tables(t.Context())
		if err == nil && cell(tables) != "Ann" {
			err = errors.New("another table")
		}
		late <- err
	}()
	with, _ := b.create("x", s, Options{Files: files})
	if n := b.client.Exists(t.Context(), r.Keys.Data).Val(); n != 0 {
		t.Error("a worker that did not create the run stored the file at once")
	}
	if err := with.offer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-late; err != nil {
		t.Error(err)
	}
	sha := s.Target.Data[0].SHA256
	b.client.HSet(t.Context(), r.Keys.Data, sha, "users.csv\nname\nBo\n")
	if _, err := r.Tables(t.Context()); err == nil || !strings.Contains(err.Error(), "data file users in Redis is damaged; create the run again") {
		t.Error(err)
	}
	r.Spec.Target.Data[0].Bytes = MostFile + 1
	if _, err := r.Tables(t.Context()); err == nil || !strings.Contains(err.Error(), "data file users has 16 MiB, too many to be stored in Redis: copy it") {
		t.Error(err)
	}
}
