// Package program says in which order a flow sends its steps: by conditions and loops over what it knows.
//
//	p, err := program.Compile(blocks, takes)
//	if err != nil { … }
//	p.Begin(&state)                            // the first step is sent
//	turn, err := p.Next(&state, session, &values) // after each answer: what is sent then
//
// The entries of a flow are a tree of Blocks. Compile makes a list of instructions of it, with jumps, so that going on
// takes no recursion: a State is a place in the list, and the counts of the loops around it.
//
// Guarantees: a flow sends at most MaxSends steps, and computes at most MaxTurns instructions between two of them. Each
// value has at most MaxValue bytes. So time and memory are bounded, whatever the expressions are.
package program

// The bounds of a flow.
const (
	MaxSends  = 1000     // steps that it sends
	MaxTurns  = 1000     // instructions between two of them
	MaxDepth  = 8        // blocks inside each other
	MaxValue  = 16 << 10 // bytes of a value, as of those that are taken
	MaxItems  = 1000     // of a list
	MaxSteps  = 100      // of a flow
	MaxBlocks = 1000     // of a flow
	MaxReason = 59       // bytes of the text of fail: it is part of a class of errors
)

// A Block is an entry of a flow. If no other field is set, it sends the step. If has Then and Else; each loop has Then.
type Block struct {
	Step    int      `json:"step,omitempty"` // its index in the flow
	If      string   `json:"if,omitempty"`   // a condition
	While   string   `json:"while,omitempty"`
	Repeat  int      `json:"repeat,omitempty"`   // 1 to MaxSends
	ForEach *Each    `json:"for_each,omitempty"` // over the items of a list
	Set     []Set    `json:"set,omitempty"`
	Fail    string   `json:"fail,omitempty"`  // why the flow has failed
	Pause   string   `json:"pause,omitempty"` // as ParsePause reads it
	Then    []*Block `json:"then,omitempty"`
	Else    []*Block `json:"else,omitempty"`
}

// Each says that a loop gives a name to one item after the other.
type Each struct {
	Name string `json:"name"`
	List string `json:"list"` // name of a value that is an array of JSON
}

// Set gives a value a name.
type Set struct {
	Name string `json:"name"`
	To   string `json:"to"` // an expression
}

// Sends reports whether the block sends a step.
func (b *Block) Sends() bool {
	return b.If == "" && b.While == "" && b.Repeat == 0 && b.ForEach == nil && len(b.Set) == 0 && b.Fail == "" && b.Pause == ""
}

// Loops reports whether the block is a loop.
func (b *Block) Loops() bool { return b.While != "" || b.Repeat != 0 || b.ForEach != nil }

// Expressions returns all expressions of blocks.
func Expressions(all []*Block) (found []string) {
	for _, b := range all {
		if b == nil { // Compile refuses it
			continue
		}
		found = append(found, b.If, b.While)
		for _, s := range b.Set {
			found = append(found, s.To)
		}
		found = append(append(found, Expressions(b.Then)...), Expressions(b.Else)...)
	}
	return found
}
