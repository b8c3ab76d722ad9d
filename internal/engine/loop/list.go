package loop

// A list links conns through their own fields: it does not allocate, and any conn can be removed. A conn is in one
// list at a time.
type list struct{ first, last *conn }

// push adds a conn at the end.
func (l *list) push(cn *conn) { l.link(l.last, cn, nil) }

// insert adds a conn before those that have later deadlines. The list is in the order of deadlines. Nearly always the
// conn is the last one: nearly all have the same timeout.
func (l *list) insert(cn *conn) {
	if l.last == nil || l.last.deadline <= cn.deadline {
		l.push(cn)
		return
	}
	prev, next := (*conn)(nil), l.first
	for next != nil && next.deadline <= cn.deadline {
		prev, next = next, next.next
	}
	l.link(prev, cn, next)
}

// link puts a conn between two others; nil is an end of the list.
func (l *list) link(prev, cn, next *conn) {
	cn.prev, cn.next = prev, next
	if prev == nil {
		l.first = cn
	} else {
		prev.next = cn
	}
	if next == nil {
		l.last = cn
	} else {
		next.prev = cn
	}
}

// remove removes a conn that is in this list.
func (l *list) remove(cn *conn) {
	if cn.prev == nil {
		l.first = cn.next
	} else {
		cn.prev.next = cn.next
	}
	if cn.next == nil {
		l.last = cn.prev
	} else {
		cn.next.prev = cn.prev
	}
	cn.prev, cn.next = nil, nil
}
