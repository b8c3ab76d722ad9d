package worker

import (
	"bytes"
	"fmt"
)

// pairTable is what TestPairs found: for each kind of run, how many slots of each pair were not sent at most.
type pairTable struct {
	kinds []string
	cells map[[3]string]int64 // by kind and names
}

// add notes what one fleet did not send; −1: it is not known.
func (p *pairTable) add(kind string, first, second event, missing int64) {
	if p.cells == nil {
		p.cells = map[[3]string]int64{}
	}
	if n := len(p.kinds); n == 0 || p.kinds[n-1] != kind {
		p.kinds = append(p.kinds, kind)
	}
	key := [3]string{kind, first.name, second.name}
	if old, known := p.cells[key]; !known || missing > old {
		p.cells[key] = missing
	}
}

// document writes the tables in Markdown: rows are the first event, columns the second one, by number.
func (p *pairTable) document() []byte {
	var b bytes.Buffer
	b.WriteString(pairsHead)
	all := allEvents()
	for _, kind := range p.kinds {
		fmt.Fprintf(&b, "\n## %s\n\n| first \\ second |", pairKinds[kind])
		for i := range all {
			fmt.Fprintf(&b, " %d |", i+1)
		}
		b.WriteString("\n|---|" + string(bytes.Repeat([]byte("--:|"), len(all))) + "\n")
		for i, first := range all {
			fmt.Fprintf(&b, "| %d %s |", i+1, first.name)
			for _, second := range all {
				fmt.Fprintf(&b, " %s |", cell(p.cells[[3]string{kind, first.name, second.name}]))
			}
			b.WriteString("\n")
		}
	}
	return b.Bytes()
}

func cell(missing int64) string {
	switch {
	case missing < 0:
		return "–"
	case missing == 0:
		return "="
	}
	return fmt.Sprint(missing)
}

// pairKinds are the headings of the tables.
var pairKinds = map[string]string{
	"numbers": "Runs with numbers", "plain": "Plain runs", "limiter": "Runs with a limiter", "closed": "Closed loops", "seats": "Closed loops with a concurrency",
}

const pairsHead = `# Pairs of events

Two events come close together in a run of 600 requests a second, four workers and leases of 3 s: the second one 0, 50,
150, 300, 600 ms or 1.1 s after the first. The workers are the real ones, on a model of Redis, in virtual time. After each
pair, TestPairs asserts that no slot was sent twice, none beyond what a command cut, that each worker accounts for all that
it owned, and that each worker ended as it should. Write this page again with

    LOADCTL_PAIRS=$PWD/docs/pairs.md go test -run TestPairs -timeout 30m ./internal/engine/worker

A cell is how many requests that were asked for were not sent, at most, in the six distances. Each of them is counted as late,
skipped or lost. ` + "`=`" + ` means none: all were sent. ` + "`–`" + ` means that there is no such number: a closed loop asks for no
number of requests, and a server that was emptied, replaced by an older one, or without the run cannot know.

A closed loop with a concurrency has 6 requests in flight, each of which takes 0.7 s. TestPairs asserts that there are never more,
and exactly 6 from 3 s after the last event on, if nothing failed. *Rate up* makes 12 of them, *rate down* 2, *half of the rate* 3.

The names: w0, w1, w2 and w3 are there from the start. *leave* is w0, *two leave* w1 and w2, *kill* w0, *suspend* w2. *rm of a
dead one* removes w0 if it was killed. *name of …* starts another process with the name of w2, or of w3. After *planned end*
and *last request* the run is over by itself, at the time of the event.
`
