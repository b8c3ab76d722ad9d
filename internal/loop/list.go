package loop

// A list links places through their own fields: it does not allocate, and any place can be removed. A place is in one
// list at a time.
type list struct{ first, last *place }

// push adds a place at the end.
func (l *list) push(p *place) { l.link(l.last, p, nil) }

// insert adds a place before those that have later deadlines. The list is in the order of deadlines. Nearly always the
// place is the last one: nearly all have the same timeout.
func (l *list) insert(p *place) {
	if l.last == nil || l.last.deadline <= p.deadline {
		l.push(p)
		return
	}
	prev, next := (*place)(nil), l.first
	for next != nil && next.deadline <= p.deadline {
		prev, next = next, next.next
	}
	l.link(prev, p, next)
}

// link puts a place between two others; nil is an end of the list.
func (l *list) link(prev, p, next *place) {
	p.prev, p.next = prev, next
	if prev == nil {
		l.first = p
	} else {
		prev.next = p
	}
	if next == nil {
		l.last = p
	} else {
		next.prev = p
	}
}

// remove removes a place that is in this list.
func (l *list) remove(p *place) {
	if p.prev == nil {
		l.first = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		l.last = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.prev, p.next = nil, nil
}
