package budgets

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/endpoint"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report/units"
)

// WriteList writes all budgets for people, and the hosts without one where runs hold something.
func (d Document) WriteList(w io.Writer) error {
	d.writeQuiet(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "BUDGET\tRATE\tRESERVED\tLEFT\tRUNS\tSTATE\tNOTE")
	for _, b := range d.Budgets {
		printable.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", b.Name, orDash(b.Rate), Rate(b.Reserved), leftText(b.Left), b.Runs, b.state(), b.said())
	}
	for _, host := range d.unbounded() {
		sum, runs, of := 0.0, 0, "-"
		for _, r := range d.Rows {
			if endpoint.Bare(r.Host) == host {
				sum, runs = sum+r.Rate, runs+1
				of = map[bool]string{true: "each of *", false: "-"}[r.Budget == "*"]
			}
		}
		printable.Fprintf(t, "%s\t%s\t%s\t-\t%d\t-\t\n", host, of, Rate(sum), runs)
	}
	return t.Flush()
}

// WriteEndpoint writes for people what there is for an endpoint: how much is left, the budgets that fit, and the rows.
func (d Document) WriteEndpoint(w io.Writer) error {
	d.writeQuiet(w)
	printable.Fprintf(w, "%s\n", d.Endpoint.line())
	if len(d.Budgets) > 0 {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "BUDGET\tRATE\tSTATE\tSINCE\tBY\tNOTE")
		for _, b := range d.Budgets {
			since, by := b.SetAt, b.By
			if b.Frozen {
				since, by = b.FrozenAt, b.FrozenBy
			}
			printable.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", b.Name, orDash(b.Rate), b.state(), moment(since), cmp.Or(by, "-"), b.said())
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if err := d.writeRows(w); err != nil {
		return err
	}
	return d.writeLine(w)
}

// writeLine writes who waits for room, in the order in which they get it.
func (d Document) writeLine(w io.Writer) error {
	if len(d.Waiting) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WAITING\tHOST\tRATE\tSINCE\tWHO")
	for _, p := range d.Waiting {
		printable.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", printable.Clip(cmp.Or(p.Run, p.UID), cellWidth), p.Host, Rate(p.Rate), moment(p.Since), cmp.Or(p.Who, "-"))
	}
	return t.Flush()
}

// writeRows writes who holds what, until when.
func (d Document) writeRows(w io.Writer) error {
	if len(d.Rows) == 0 {
		_, err := fmt.Fprintln(w, "no run holds anything here")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tHOST\tRATE\tUNTIL\tCOMES DOWN TO\tWHO\tSINCE")
	for _, r := range d.Rows {
		printable.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.name(), r.Host, Rate(r.Rate), moment(r.Until), orDash(r.DownTo), cmp.Or(r.Who, "-"), moment(r.Since))
	}
	return t.Flush()
}

// writeQuiet says that nothing new is granted.
func (d Document) writeQuiet(w io.Writer) {
	if why := d.Quiet(); why != "" {
		printable.Fprintf(w, "%s\n", why)
	}
}

// Quiet says until when nothing new is granted, and why; "" = it is granted.
func (d Document) Quiet() string {
	if d.QuietUntil.IsZero() {
		return ""
	}
	return "nothing new is granted until " + moment(d.QuietUntil) + ": these budgets are new in this Redis, or it may have forgotten what runs hold"
}

// line says what there is for an endpoint.
func (e Endpoint) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", e.Host)
	switch {
	case e.Budget == "":
		fmt.Fprintf(&b, "no budget bounds it; runs hold %s per second", Rate(e.Reserved))
	case e.Left == nil:
		fmt.Fprintf(&b, "%s per second for each host that has no other budget; runs hold %s at all of them", Rate(e.Rate), Rate(e.Reserved))
	default:
		fmt.Fprintf(&b, "%s per second by the budget of %s; runs hold %s, %s are left", Rate(e.Rate), e.Budget, Rate(e.Reserved), Rate(*e.Left))
	}
	if e.Frozen {
		b.WriteString("; frozen: no run may send there")
	}
	return b.String()
}

// Holders lists runs with what they hold and until when, for an error: all that fit a line, and how many there are more.
func (d Document) Holders() string {
	const most = 8
	var all []string
	for _, r := range d.Rows[:min(most, len(d.Rows))] {
		all = append(all, fmt.Sprintf("%s %s per second at %s until %s", r.name(), Rate(r.Rate), r.Host, moment(r.Until)))
	}
	if more := len(d.Rows) - most; more > 0 {
		all = append(all, fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, ", ")
}

// name returns the name of a row's run, or its uid if the name is unknown.
func (r Row) name() string { return printable.Clip(cmp.Or(r.Run, r.UID), cellWidth) }

func (b Budget) state() string {
	if b.Frozen {
		return "frozen"
	}
	return "open"
}

// said returns what people say about a budget: why it is frozen, or the note of its rate.
func (b Budget) said() string {
	if b.Frozen {
		return printable.Clip(b.Why, cellWidth)
	}
	return printable.Clip(b.Note, cellWidth)
}

// cellWidth is the number of characters that a table shows of what people wrote. JSON has them all.
const cellWidth = 80

// Rate formats requests per second: to a thousandth, or exactly if there are less.
func Rate(r float64) string {
	if r > 0 && r < 1 {
		return strconv.FormatFloat(r, 'f', -1, 64)
	}
	return units.Thousandths(r)
}

func orDash(r float64) string {
	if r == 0 {
		return "-"
	}
	return Rate(r)
}

func leftText(left *float64) string {
	if left == nil {
		return "-"
	}
	return Rate(*left)
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.RFC3339)
}
