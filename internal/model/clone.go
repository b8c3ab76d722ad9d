package model

import (
	"maps"
	"slices"
)

// Clone is a copy that shares nothing with b: what a replica knows at this moment.
func (b *Budget) Clone() *Budget {
	c := *b
	copies := make(map[*Generation]*Generation, len(b.Laws))
	of := func(gens []*Generation) []*Generation {
		out := make([]*Generation, len(gens))
		for i, g := range gens {
			if copies[g] == nil {
				x := *g
				copies[g] = &x
			}
			out[i] = copies[g]
		}
		return out
	}
	c.Laws, c.Gens = of(b.Laws), of(b.Gens)
	c.Recalls = slices.Clone(b.Recalls)
	c.opts.Pieces = slices.Clone(b.opts.Pieces)
	c.commands = maps.Clone(b.commands)
	c.Members = make(map[string]*Member, len(b.Members))
	for name, m := range b.Members {
		x := *m
		x.ranges = slices.Clone(m.ranges)
		x.reply.Recalls = slices.Clone(m.reply.Recalls)
		c.Members[name] = &x
	}
	return &c
}
