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

// publishSamples publishes the evidence, if it is time for that. It is tried once: the next time has all of it too.
func (p *publisher) publishSamples(patience time.Duration) {
	journal, ok := p.journal.(SampleJournal)
	now := p.clock.Now()
	if !ok || len(p.shards) == 0 || p.shards[0].observer == nil || p.sampled > 0 && now-p.sampled < min(max((now-p.began)/10, int64(sampleEvery)), int64(sampleLatest)) {
		return
	}
	p.sampled = now
	all, version := p.samples()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := journal.PublishSamples(ctx, all, version, p.total.Processes); err != nil {
		p.log.Warn("no samples published; trying again", "err", err)
	}
}

// samples returns the evidence of all shards, and how often it has changed.
func (p *publisher) samples() (all samples.Set, version int64) {
	var sets []samples.Set
	for _, s := range p.shards {
		if s.observer != nil {
			set, changes := s.observer.kept.Set()
			sets, version = append(sets, set), version+changes
		}
	}
	return samples.Merge(sets...), version
}
