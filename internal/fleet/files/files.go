// Package files keeps the data files of a run in Redis, for workers that join by name.
package files

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
)

// Most is the size of the largest data file that travels with a run, in bytes. Larger ones must be on each machine.
const Most = 16 << 20

// Times around data files.
const (
	patience = 10 * time.Second // for the file of a run that was just created
	pause    = 3 * time.Second  // at most, until a worker stores a file that nobody else has stored
)

// Files are data files by their SHA-256.
type Files map[string]File

// A File is the content of a data file. Its name says in which format.
type File struct {
	Name    string
	Content []byte
}

// Store stores the files that Redis does not have yet.
func (f Files) Store(ctx context.Context, r *run.Run) error {
	for sha, file := range f {
		there, err := r.Client.HExists(ctx, r.Keys.Data, sha).Result()
		if err == nil && !there {
			_, err = r.Client.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.HSetNX(ctx, r.Keys.Data, sha, file.Name+"\n"+string(file.Content))
				p.PExpire(ctx, r.Keys.Data, r.Lifetime())
				return nil
			})
		}
		if err != nil {
			return run.Explain("store a data file of run", r.Name, err)
		}
	}
	return nil
}

// Restore stores the files if Redis does not have them: it may have lost them, or the creator of the run has gone too
// soon. It uses a connection of its own, so renewals do not wait for it. It waits for a random time before, because many
// workers may do the same. It tries again until ctx ends.
func (f Files) Restore(ctx context.Context, r *run.Run, l *link.Link) {
	for len(f) > 0 {
		select {
		case <-time.After(pause/3 + rand.N(pause*2/3)):
		case <-ctx.Done():
			return
		}
		aside, err := r.Aside(ctx, l)
		if err == nil {
			err = f.Store(ctx, aside)
		}
		if err == nil {
			return
		}
	}
}

// Tables reads the data files of a run that others have described. It waits for files of a run that was just created.
func Tables(ctx context.Context, r *run.Run) (targets.Tables, error) {
	tables := targets.Tables{}
	for _, d := range r.Spec.Target.Data {
		if d.Bytes > Most {
			return nil, fmt.Errorf("run %s: data file %s is larger than %d MiB, so Redis does not have it: copy it to this machine, "+
				"and start this worker with the same flags as the creator of the run", r.Name, d.Name, Most>>20)
		}
		table, err := readTable(ctx, r, d)
		if err != nil {
			return nil, err
		}
		tables[d.SHA256] = table
	}
	return tables, nil
}

// readTable reads one data file.
func readTable(ctx context.Context, r *run.Run, d rows.Source) (*rows.Table, error) {
	for began := time.Now(); ; {
		stored, err := r.Client.HGet(ctx, r.Keys.Data, d.SHA256).Result()
		switch {
		case err == nil:
			return parse(r, d, stored)
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !errors.Is(err, redis.Nil):
			return nil, run.Explain("read a data file of run", r.Name, err)
		case time.Since(began) > patience:
			return nil, fmt.Errorf("run %s: its data file %s is not in Redis; start a worker with the same flags as the creator of the run: it stores the file", r.Name, d.Name)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// parse reads a data file as it is stored: its name, a line break, and its content.
func parse(r *run.Run, d rows.Source, stored string) (*rows.Table, error) {
	name, content, _ := strings.Cut(stored, "\n")
	table, err := rows.Read(name, []byte(content))
	if err != nil || table.SHA256() != d.SHA256 {
		return nil, fmt.Errorf("run %s: its data file %s in Redis is damaged; create the run again, with --new once it has ended", r.Name, d.Name)
	}
	return table, nil
}
