package loop

// A list links places through their own fields: it does not allocate, and any place can be removed. A place is in one
// list at a time.
type list struct{ first, last *place }

// push adds a place at the end.
func (l *list) push(p *place) {
	p.prev, p.next = l.last, nil
	if l.last == nil {
		l.first = p
	} else {
		l.last.next = p
	}
	l.last = p
}

// insert adds a place before those that have later deadlines. The list is in the order of deadlines.
func (l *list) insert(p *place) {
	next := l.first
	for next != nil && next.deadline <= p.deadline {
		next = next.next
	}
	if next == nil {
		l.push(p)
		return
	}
	p.prev, p.next = next.prev, next
	if next.prev == nil {
		l.first = p
	} else {
		next.prev.next = p
	}
	next.prev = p
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
