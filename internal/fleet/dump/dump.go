// Package dump writes the stored state of a run for people, with the names that lua/table.go gives its numbers.
//
//	err := dump.Run(ctx, client, "checkout", os.Stdout)
//
// It only reads. It also writes what it can of a damaged run.
package dump

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/lua"
)

// Run writes the stored state of a run for people, with the names of lua/table.go. It reads key after key, so a run that
// goes on may change meanwhile. What cannot be read it names instead of giving up. It returns ErrNoRun if nothing is stored.
// The description is left out: it may have secrets.
func Run(ctx context.Context, client rdb.Client, name string, w io.Writer) error {
	k := run.KeysOf(name)
	if n, err := client.Exists(ctx, k.Change()...).Result(); err != nil {
		return run.Explain("read run", name, err)
	} else if n == 0 {
		return fmt.Errorf("run %s: %w", name, run.ErrNoRun)
	}
	d := dump{w: w}
	for _, part := range []struct {
		title string
		write func() error
	}{
		{"budget", func() error { return d.budget(client.HGetAll(ctx, k.Budget)) }},
		{"workers", func() error { return d.workers(client.HGetAll(ctx, k.Workers)) }},
		{"due", func() error { return d.scores(client.ZRangeWithScores(ctx, k.Due, 0, -1)) }},
		{"byload", func() error { return d.scores(client.ZRangeWithScores(ctx, k.ByLoad, 0, -1)) }},
		{"unowned", func() error { return d.unowned(client.ZRangeWithScores(ctx, k.Unowned, 0, -1)) }},
		{"laws", func() error { return d.laws(client.HVals(ctx, k.Laws)) }},
		{"log", func() error { return d.log(client.LRange(ctx, k.Log, -mostEntries, -1)) }},
	} {
		d.line("%s", part.title)
		if err := part.write(); link.Unanswered(err) {
			return run.Explain("read run", name, err)
		} else if err != nil {
			d.line("  cannot be read: %v", err)
		}
	}
	return d.err
}

// mostEntries is how many of the newest entries of the log Dump writes.
const mostEntries = 100

// dump writes lines until one fails.
type dump struct {
	w   io.Writer
	err error
}

func (d *dump) line(format string, args ...any) {
	if d.err == nil {
		_, d.err = printable.Fprintf(d.w, format+"\n", args...)
	}
}

// budget writes the fields of the budget that are text, and then the numbers of the run.
func (d *dump) budget(fields *redis.MapStringStringCmd) error {
	all, err := fields.Result()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name != "core" && name != "laws" {
			d.line("  %-16s %s", name, printable.Clip(all[name], 200))
		}
	}
	numbers, rest, err := lua.Read("core", all["core"])
	if err != nil || rest != "" {
		return fmt.Errorf("core: %d bytes are not its numbers", len(all["core"]))
	}
	for _, x := range numbers {
		d.line("  core.%-15s %-48s %s", x.Name, moment(x.Value), x.Doc)
	}
	return nil
}

// workers writes a line for each member, and one for each range that it holds or is to hold.
func (d *dump) workers(records *redis.MapStringStringCmd) error {
	all, err := records.Result()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fields, held, target, err := lua.Holding(all[name])
		if err != nil {
			d.line("  %s cannot be read: %v", name, err)
			continue
		}
		numbers, _, _ := lua.Read("record", all[name])
		d.line("  %s incarnation %s %s", name, fields["inc"], values(numbers))
		for _, p := range held {
			d.line("    holds  %s", span(p))
		}
		for _, p := range target {
			d.line("    target [%d, %d)", p.Lo, p.Hi)
		}
	}
	return nil
}

// scores writes a sorted set.
func (d *dump) scores(set *redis.ZSliceCmd) error {
	all, err := set.Result()
	for _, z := range all {
		d.line("  %-40v %s", z.Member, score(z.Score))
	}
	return err
}

// unowned writes the ranges that no member holds, or that are in no target.
func (d *dump) unowned(set *redis.ZSliceCmd) error {
	all, err := set.Result()
	for _, z := range all {
		text, _ := z.Member.(string)
		if z.Score >= lua.UnassignedScore {
			numbers, _, err := lua.Read("bare", text)
			if err != nil {
				return err
			}
			d.line("  unassigned %s", values(numbers))
			continue
		}
		what := "free"
		if z.Score >= lua.UnownedKind {
			what = "unknown"
		}
		ranges, err := lua.Ranges(text)
		if err != nil {
			return err
		}
		for _, p := range ranges {
			d.line("  %-10s %s", what, span(p))
		}
	}
	return err
}

// laws writes all laws in their order.
func (d *dump) laws(texts *redis.StringSliceCmd) error {
	all, err := texts.Result()
	slices.SortFunc(all, func(a, b string) int { return int(run.LawNumber(a) - run.LawNumber(b)) })
	for _, text := range all {
		numbers, _, err := lua.Read("law", text)
		if err != nil {
			return err
		}
		d.line("  %s", values(numbers))
	}
	return err
}

// log writes the newest entries of the log: who owned a range from which slot to which.
func (d *dump) log(entries *redis.StringSliceCmd) error {
	all, err := entries.Result()
	for _, entry := range all {
		numbers, owner, err := lua.Read("range", entry)
		if err != nil {
			return err
		}
		v := func(i int) int64 { return numbers[i].Value }
		if owner == "" {
			owner = "no member"
		}
		d.line("  [%d, %d) from law %d slot %d to law %d slot %d: %s", v(0), v(1), v(2), v(3), v(4), v(5), owner)
	}
	return err
}

func span(p lua.Range) string {
	return fmt.Sprintf("[%d, %d) from law %d slot %d, for the log from law %d slot %d", p.Lo, p.Hi, p.FromG, p.FromK, p.SinceG, p.SinceK)
}

// values returns numbers behind their names.
func values(numbers []lua.Number) string {
	var b strings.Builder
	for i, x := range numbers {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s %d", x.Name, x.Value)
	}
	return b.String()
}

// moment returns a number, and what time that is if it may be one of the last decades, in µs.
func moment(v int64) string {
	if v < 1e15 || v > 4e15 {
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%d %s", v, run.TimeOf(v).UTC().Format(time.RFC3339Nano))
}

func score(v float64) string {
	if v > 1e15 {
		return moment(int64(v))
	}
	return fmt.Sprintf("%.6g", v)
}
