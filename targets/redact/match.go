package redact

// An extent is what a match hides.
type extent uint8

const (
	exact       extent = iota // the pattern alone
	toDelimiter               // all up to what ends a word
	allHex                    // all hexadecimal digits around it
	allBase64                 // all base64 around it
)

// A matcher finds many patterns in one walk over a text: the automaton of Aho and Corasick. For each state it knows the longest
// pattern that ends there:
//
//	state(i+1) = the longest prefix of a pattern that ends with byte i
//
// At the end of a text the state tells whether a pattern begins there that is cut off.
type matcher struct {
	edges []edge // a hash table with open addressing
	nodes []node
	root  [256]int32 // the edges of the root
}

// An edge leads from a node by a byte. The key is node<<8 | byte; to = 0 marks a free place, as no edge leads to the root.
type edge struct {
	key uint32
	to  int32
}

// A node stands for a prefix of a pattern.
type node struct {
	fail  int32 // the node of its longest proper suffix
	depth int32
	match int32 // length of the longest pattern that ends here; 0 = none does
	ends  extent
}

// A builder takes patterns for a matcher.
type builder struct {
	patterns []pattern
	bytes    int
	seen     map[string]bool // values whose forms were added
}

type pattern struct {
	text string
	ends extent
}

// add adds a pattern.
func (b *builder) add(text string, ends extent) {
	if len(text) >= leastBytes {
		b.patterns, b.bytes = append(b.patterns, pattern{text, ends}), b.bytes+len(text)
	}
}

// build returns the matcher; nil if it would be too large.
func (b *builder) build() *matcher {
	if b.bytes > mostNodes {
		return nil
	}
	size := 16
	for size < 2*b.bytes {
		size *= 2
	}
	m := &matcher{edges: make([]edge, size), nodes: make([]node, 1, b.bytes+1)}
	parents := make([]edge, 1, b.bytes+1) // the edge to each node
	deepest := int32(0)
	for _, p := range b.patterns {
		at := int32(0)
		for i := range len(p.text) {
			next := m.next(at, p.text[i])
			if next == 0 {
				next = int32(len(m.nodes))
				m.nodes = append(m.nodes, node{depth: int32(i) + 1})
				parents = append(parents, edge{uint32(at)<<8 | uint32(p.text[i]), next})
				m.put(at, p.text[i], next)
			}
			at = next
		}
		m.nodes[at].match, m.nodes[at].ends = int32(len(p.text)), max(m.nodes[at].ends, p.ends)
		deepest = max(deepest, int32(len(p.text)))
	}
	m.link(parents, deepest)
	return m
}

// link sets what a node falls back to, those of short prefixes first.
func (m *matcher) link(parents []edge, deepest int32) {
	begin := make([]int32, deepest+2)
	for i := range m.nodes[1:] {
		begin[m.nodes[i+1].depth+1]++
	}
	for d := int32(1); d < int32(len(begin)); d++ {
		begin[d] += begin[d-1]
	}
	order := make([]int32, len(m.nodes)-1)
	for i := range m.nodes[1:] {
		d := m.nodes[i+1].depth
		order[begin[d]] = int32(i + 1)
		begin[d]++
	}
	for _, i := range order {
		n := &m.nodes[i]
		parent, c := int32(parents[i].key>>8), byte(parents[i].key)
		if parent != 0 {
			n.fail = m.step(m.nodes[parent].fail, c)
		}
		back := m.nodes[n.fail]
		n.ends = max(n.ends, back.ends)
		if n.match == 0 {
			n.match = back.match
		}
	}
}

// next returns where an edge leads; 0 if there is none.
func (m *matcher) next(from int32, c byte) int32 {
	if from == 0 {
		return m.root[c]
	}
	key := uint32(from)<<8 | uint32(c)
	for i := m.slot(key); ; i = (i + 1) & (len(m.edges) - 1) {
		if e := m.edges[i]; e.to == 0 || e.key == key {
			return e.to
		}
	}
}

func (m *matcher) put(from int32, c byte, to int32) {
	if from == 0 {
		m.root[c] = to
		return
	}
	key := uint32(from)<<8 | uint32(c)
	i := m.slot(key)
	for m.edges[i].to != 0 {
		i = (i + 1) & (len(m.edges) - 1)
	}
	m.edges[i] = edge{key, to}
}

// slot returns where the search for a key begins.
func (m *matcher) slot(key uint32) int { return int(key*2654435769>>7) & (len(m.edges) - 1) }

// step returns the state that follows another one.
func (m *matcher) step(at int32, c byte) int32 {
	for {
		if next := m.next(at, c); next != 0 || at == 0 {
			return next
		}
		at = m.nodes[at].fail
	}
}

// match calls found with each range of a text that is hidden; of ranges that overlap maybe only with one around them.
// A text may end within a pattern: least is how many bytes of one are hidden there.
func (m *matcher) match(text []byte, least int, found func(from, to int)) {
	at, covered := int32(0), 0 // covered: all up to there that an extended match could hide is hidden
	for i := range text {
		at = m.step(at, text[i])
		n := &m.nodes[at]
		if last := len(text) - 1; i == last || i+longEscape > last && unfinished(text[i+1:]) {
			if depth := int(n.depth); depth >= least {
				found(i+1-depth, len(text))
			}
		}
		if n.match == 0 {
			continue
		}
		from, to := i+1-int(n.match), i+1
		if n.ends != exact && i >= covered {
			from, to = extend(text, from, to, covered, n.ends)
			covered = to
		}
		found(from, to)
	}
}

// extend returns all that a match hides, not before begin.
func extend(text []byte, from, to, begin int, ends extent) (int, int) {
	within := func(c byte) bool { return !endsWord(c) && c != '\\' && c != '}' && c != ']' }
	switch ends {
	case allHex:
		within = isHex
	case allBase64:
		within = func(c byte) bool {
			return isTokenByte(c) && c != '.' || c == '+' || c == '/' || c == '='
		}
	}
	for to < len(text) && within(text[to]) {
		to++
	}
	for ends != toDelimiter && from > begin && within(text[from-1]) {
		from--
	}
	return from, to
}
