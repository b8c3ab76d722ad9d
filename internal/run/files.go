package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/link"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
)

// MostFile is the size of the largest data file that travels with a run, in bytes. Larger ones must be on each machine.
const MostFile = 16 << 20

// Times around data files.
const (
	fileWait   = 10 * time.Second // for the file of a run that was just created
	offerPause = 3 * time.Second  // at most, until a worker stores a file that nobody else has stored
)

// Files are data files by their SHA-256. It is not changed after it was given to Create.
type Files map[string]File

// A File is the content of a data file. Its name says in which format.
type File struct {
	Name    string
	Content []byte
}

// offer stores the data files that Redis does not have yet.
func (r *Run) offer(ctx context.Context) error {
	for sha, f := range r.files {
		there, err := r.Client.HExists(ctx, r.Keys.Data, sha).Result()
		if err == nil && !there {
			_, err = r.Client.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.HSetNX(ctx, r.Keys.Data, sha, f.Name+"\n"+string(f.Content))
				p.PExpire(ctx, r.Keys.Data, r.lifetime())
				return nil
			})
		}
		if err != nil {
			return Explain("store a data file of run", r.Name, err)
		}
	}
	return nil
}

// OfferAgain stores the data files of the run if Redis does not have them: it may have lost them, or the creator of the
// run has gone too soon. It uses a connection of its own, so renewals do not wait for it. It waits for a random time
// before, because many workers may do the same.
func (r *Run) OfferAgain(ctx context.Context, l *link.Link) {
	for len(r.files) > 0 {
		select {
		case <-time.After(offerPause/3 + rand.N(offerPause*2/3)):
		case <-ctx.Done():
			return
		}
		aside, err := r.Aside(ctx, l)
		if err == nil {
			err = aside.offer(ctx)
		}
		if err == nil {
			return
		}
	}
}

// lifetime returns how long keys of the run live without any contact.
func (r *Run) lifetime() time.Duration {
	if r.keep == 0 {
		return DefaultKeep
	}
	return r.keep
}

// Tables reads the data files of a run that others have described. It waits for files of a run that was just created.
func (r *Run) Tables(ctx context.Context) (targets.Tables, error) {
	tables := targets.Tables{}
	for _, d := range r.Spec.Target.Data {
		if d.Bytes > MostFile {
			return nil, fmt.Errorf("run %s: data file %s has %d MiB, too many to be stored in Redis: copy it to this machine, "+
				"and start this worker with the same flags as the creator of the run", r.Name, d.Name, d.Bytes>>20)
		}
		table, err := r.table(ctx, d)
		if err != nil {
			return nil, err
		}
		tables[d.SHA256] = table
	}
	return tables, nil
}

// table reads one data file.
func (r *Run) table(ctx context.Context, d rows.Source) (*rows.Table, error) {
	for began := time.Now(); ; {
		stored, err := r.Client.HGet(ctx, r.Keys.Data, d.SHA256).Result()
		switch {
		case err == nil:
			return r.parseFile(d, stored)
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !errors.Is(err, redis.Nil):
			return nil, Explain("read a data file of run", r.Name, err)
		case time.Since(began) > fileWait:
			return nil, fmt.Errorf("run %s: its data file %s is not in Redis; start a worker with the same flags as the creator of the run: it stores the file", r.Name, d.Name)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// parseFile reads a data file as it is stored: its name, a line break, and its content.
func (r *Run) parseFile(d rows.Source, stored string) (*rows.Table, error) {
	name, content, _ := strings.Cut(stored, "\n")
	table, err := rows.Read(name, []byte(content))
	if err != nil || table.SHA256() != d.SHA256 {
		return nil, fmt.Errorf("run %s: its data file %s in Redis is damaged; create the run again, with --new once it has ended", r.Name, d.Name)
	}
	return table, nil
}
