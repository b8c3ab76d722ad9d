package results

import (
	"context"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report/record"
)

// streamLength is about how many interval snapshots are kept at least for watchers, and how many are read at once. In
// a larger fleet three for each member are kept. Reports do not need them.
const streamLength = 1000

// snapshots reads the stream after an entry: each interval snapshot with its id and its worker/incarnation; nil if it
// cannot be read.
func snapshots(ctx context.Context, r *run.Run, last string, read func(id, who string, s *record.Snapshot)) error {
	for more := true; more; {
		entries, err := r.Client.XRangeN(ctx, r.Keys.Snapshots, "("+last, "+", streamLength).Result()
		if err != nil {
			return run.Explain("read snapshots of", r.Name, err)
		}
		for _, e := range entries {
			who, _ := e.Values["w"].(string)
			text, _ := e.Values["s"].(string)
			s := new(record.Snapshot)
			if s.UnmarshalBinary([]byte(text)) != nil {
				s = nil
			}
			last = e.ID
			read(e.ID, who, s)
		}
		more = len(entries) == streamLength
	}
	return nil
}
