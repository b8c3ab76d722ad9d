package worker

import (
	"context"
	"time"

	"github.com/loadctl/loadctl/report/samples"
)

// Evidence changes ever less often, so it is published ever less often: after each tenth of the time so far, within these
// bounds.
const (
	sampleEvery  = time.Second
	sampleLatest = 10 * time.Second
)

// publishSamples publishes the evidence, if it is time for that. It is tried once: the next time has all of it too. At the end
// it is published in any case: other processes may have taken its room.
func (p *publisher) publishSamples(patience time.Duration, last bool) {
	journal, ok := p.journal.(SampleJournal)
	now := p.clock.Now()
	pause := min(max((now-p.began)/10, int64(sampleEvery)), int64(sampleLatest))
	if !ok || p.samples == nil || !last && p.sampled > 0 && now-p.sampled < pause {
		return
	}
	p.sampled = now
	all, version := p.evidence()
	if last {
		version++
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := journal.PublishSamples(ctx, all, version, p.total.Processes); err != nil {
		p.log.Warn("no samples published; trying again", "err", err)
	}
}

// evidence returns what the worker has kept, and how often that has changed.
func (p *publisher) evidence() (samples.Set, int64) {
	if p.samples == nil {
		return samples.Set{}, 0
	}
	return p.samples.Set()
}
