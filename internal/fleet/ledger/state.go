package ledger

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/lua"
)

// A State is all that a ledger has, at one instant.
type State struct {
	Now time.Time // by the clock of its server
	// Until when it grants nothing new, because its server may have forgotten rows. Zero = it grants.
	Quiet   time.Time
	Budgets []Budget // by name; also those that were removed
	Rows    []Row    // by host and run
	Queue   []Place  // of runs that wait for room, the first one first

	left []string // fields of the line that nobody renews
}

// A Budget is what all runs together may send, and what people say about it.
type Budget struct {
	reserve.Budget
	Note Note // about the rate
	Why  Note // about the freeze, or about its end
}

// SetAt returns about when the rate was set; zero = never.
func (b Budget) SetAt() time.Time { return timeOf(b.Version) }

// FrozenAt returns about when the budget was frozen or thawed; zero = never.
func (b Budget) FrozenAt() time.Time { return timeOf(b.Freeze) }

// A Row is what a run may send at a host.
type Row struct {
	Host     string // HOST:PORT
	Run      string // its uid
	Rate     int64
	Version  int64
	Ends     time.Time // unless it is renewed
	Cap      int64     // the run has to come down to this; 0 = it has not
	Reported int64     // the version of the budgets that the run knows
	People   People
}

// Since returns when the run got the row, as the run says; zero = that is unknown.
func (r Row) Since() time.Time {
	const most = 1 << 53 // µs: no time of a script is later
	if r.People.Since < 0 || r.People.Since > most {
		return time.Time{}
	}
	return timeOf(r.People.Since)
}

// List reads the ledger. It changes nothing. Rows that are over are left out.
func (l Ledger) List(ctx context.Context) (State, error) {
	var budgets, rows, queue *redis.MapStringStringCmd
	_, err := l.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		budgets, rows, queue = p.HGetAll(ctx, budgetsKey), p.HGetAll(ctx, rowsKey), p.HGetAll(ctx, queueKey)
		return nil
	})
	var s State
	if err == nil {
		s.Now, err = link.Clock(ctx, l.Client, budgetsKey)
	}
	if err != nil {
		return s, explain("read the budgets", err)
	}
	s.readQueue(queue.Val())
	if err := s.readBudgets(budgets.Val()); err != nil {
		return s, err
	}
	return s, s.readRows(rows.Val())
}

// numbers returns the numbers of a stored text by their names, and the rest of it.
func numbers(form, text string) (n map[string]int64, rest string, err error) {
	all, rest, err := lua.Read(form, text)
	if err != nil {
		return nil, "", errBroken
	}
	n = map[string]int64{}
	for _, x := range all {
		n[x.Name] = x.Value
	}
	return n, rest, nil
}

func (s *State) readBudgets(stored map[string]string) error {
	for field, text := range stored {
		name, is := strings.CutPrefix(field, "b/")
		if !is && field != "ledger" {
			continue
		}
		form := "budget"
		if !is {
			form = field
		}
		n, _, err := numbers(form, text)
		switch {
		case err != nil:
			return err
		case !is:
			if quiet := timeOf(n["quiet"]); quiet.After(s.Now) {
				s.Quiet = quiet
			}
		default:
			b := reserve.Budget{Name: name, Rate: n["rate"], Version: n["version"], Frozen: n["frozen"] == 1, Freeze: n["freeze"]}
			s.Budgets = append(s.Budgets, Budget{b, decoded[Note](stored["n/"+name]), decoded[Note](stored["w/"+name])})
		}
	}
	slices.SortFunc(s.Budgets, func(a, b Budget) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

func (s *State) readRows(stored map[string]string) error {
	for at, text := range stored {
		n, people, err := numbers("row", text)
		host, run, named := strings.Cut(at, " ")
		if err != nil || !named {
			return errBroken
		}
		r := Row{Host: host, Run: run, Rate: n["rate"], Version: n["version"], Ends: timeOf(n["ending"]), Cap: n["cap"], Reported: n["reported"], People: decoded[People](people)}
		if !r.Ends.Before(s.Now) {
			s.Rows = append(s.Rows, r)
		}
	}
	slices.SortFunc(s.Rows, func(a, b Row) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Run, b.Run)) })
	return nil
}
