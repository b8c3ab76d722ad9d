// Package samples keeps some requests of a run as evidence: what was sent, what came back, and how long each part took.
//
//	all := samples.NewCollector(worker, steps, false, samples.Limits{})
//	k := all.Chooser() // one for each shard
//	if k.Worth(step, class, ordinal, latency) {
//		k.Add(step, samples.Sample{…})
//	}
//	fleet := samples.Merge(a, b, c) // what all.Set() returned in each worker
//
// Of each class of failures and step it keeps the first three that ended, and five that are chosen at random; of each step the ten
// slowest, the three slowest of those whose traces are recorded, and five good ones at random. Random means: those with the smallest hash of their ordinals (bottom-k sampling,
// Cohen and Kaplan 2007). So a merge of many workers has exactly the samples that one worker would have kept.
//
// Guarantees: memory is bounded, and all texts are as the caller gave them: it redacts secrets.
package samples
