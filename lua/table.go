package lua

import (
	"regexp"
	"strings"
)

// A Field is one number of eight bytes in a stored text.
type Field struct {
	Name string
	Of   string // in Lua, where it is stored: an expression; "" = Name in the table of its form
	Doc  string // for docs and `loadctl debug`
}

// A form is a stored text: its fields in their order. Scripts name the fields by these marks, which Text replaces. So each
// order is written once, and what Redis compiles is constant.
//
//	$letters(core)  its letters, one for each number   '<lll…'
//	$names(core)    its names, to unpack it into locals  tf, grace, …
//	$of(core)       where its numbers are, to pack it   b.tf, b.grace, …
//	$table(law)     a table of the unpacked locals       id = id, t0 = t0, …
type form struct {
	in     string // the Lua variable that has the fields
	fields []Field
}

// formOf returns the form with a name; one without fields if there is none.
func formOf(name string) form {
	switch name {
	case "core":
		return form{"b.", coreFields()}
	case "record":
		return form{"m.", recordFields()}
	case "law":
		return form{"l.", lawFields()}
	case "range":
		return form{"s.", rangeFields()}
	case "bare":
		return form{"s.", bareFields()}
	case "call":
		return form{"c.", callFields()}
	case "ledger":
		return form{"l.", ledgerFields()}
	case "budget":
		return form{"b.", budgetFields()}
	case "row":
		return form{"r.", rowFields()}
	case "head":
		return form{"", headFields()}
	}
	return form{}
}

// coreFields are the numbers of a run. Times are µs of the Redis clock.
func coreFields() []Field {
	return []Field{
		{Name: "tf", Doc: "when this server was first called"},
		{Name: "grace", Doc: "when the grace period ends: until then unknown ranges stay unknown; 0 = over"},
		{Name: "noExpiryBefore", Doc: "no worker expires before"},
		{Name: "rebalancedAt", Doc: "when shares were last rebalanced"},
		{Name: "clockEpoch", Doc: "number of the first law of this clock epoch"},
		{Name: "command", Doc: "number of the last law of a command"},
		{Name: "started", Doc: "when the first slot was due; 0 = not begun"},
		{Name: "n", Doc: "members present"},
		{Name: "w", Doc: "weight of those that stay"},
		{Name: "hold", Doc: "how long a lease is, µs"},
		{Name: "min", Doc: "members to wait for; 0 = for the order to start"},
		{Name: "span", Doc: "length of the run, µs; 0 = endless"},
		{Name: "requests", Doc: "number of requests; 0 = no limit"},
		{Name: "deadman", Doc: "silence of controllers after which the run is stopped, µs; 0 = never"},
		{Name: "seed", Doc: "of Poisson arrivals; 0 = slots are evenly spaced"},
		{Name: "controllerAt", Doc: "when a controller last called"},
		{Name: "newest", Doc: "highest number of a law"},
		{Name: "follow", Doc: "when the next law of the plan begins, or later if it must not be made yet; 2^52 = never, or a command makes it"},
		{Name: "phase", Doc: "of the newest law: 0 running, 1 paused, 2 stopped, 3 ended"},
		{Name: "begun", Doc: "1 = there is a law"},
		{Name: "given", Doc: "1 = a command before the start has given the plan"},
		{Name: "free", Doc: "number of free ranges"},
		{Name: "unassigned", Doc: "number of ranges that are in no target"},
		{Name: "allow", Doc: "highest rate that a law may have by the run's rights, requests per 1,000,000 s; 2^52 = it has no rights, and any rate"},
		{Name: "rightEnds", Doc: "no lease is longer than the rights, µs; 2^52 = they have no end; 0 = this server may have forgotten them"},
		{Name: "peak", Doc: "highest rate by the laws and their plans, requests per 1,000,000 s"},
		{Name: "high", Doc: "highest rate that a worker may still go by, requests per 1,000,000 s"},
		{Name: "frozen", Doc: "1 = its endpoint is frozen, 2 = and it was paused for that"},
	}
}

// recordFields are the numbers of a member. Then come the ranges that it holds, the ranges of its target, and its
// incarnation.
func recordFields() []Field {
	return []Field{
		{Name: "seq", Doc: "of the last call that changed something"},
		{Name: "weight", Doc: "its part of the rate is weight / sum of weights"},
		{Name: "version", Doc: "of what it holds"},
		{Name: "joins", Doc: "when neighbouring ranges may be joined, µs; 2^52 = there are none; of a departed member: when it last called"},
		{Name: "state", Doc: "0 of a former server, 1 present, 2 left, 3 halted, 4 lost, 5 removed, 6 replaced"},
		{Name: "leaving", Of: "m.leaving and 1 or 0", Doc: "1 = it hands over what it holds"},
		{Name: "giving", Doc: "places that it holds and is to release"},
		{Name: "missing", Doc: "places of its target that it does not hold"},
		{Name: "units", Doc: "places of its target"},
		{Name: "holds", Of: "#held / bytes(RANGE)", Doc: "number of ranges that it holds"},
		{Name: "aims", Of: "#target / bytes(BARE)", Doc: "number of ranges of its target"},
		{Name: "known", Doc: "newest law that it has confirmed"},
	}
}

// lawFields are the numbers of a law (pacer/lease/law.go).
func lawFields() []Field {
	return []Field{
		{Name: "id", Doc: "number of the law"},
		{Name: "t0", Doc: "when it begins, µs"},
		{Name: "c", Doc: "what is left of the distance between slots of the law before, micro-slots"},
		{Name: "r0", Doc: "rate at its begin is r0 / den"},
		{Name: "r1", Doc: "rate at its end is r1 / den"},
		{Name: "den"},
		{Name: "dur", Doc: "length of the ramp, µs; 0 = endless"},
		{Name: "k", Doc: "how many slots it has"},
		{Name: "base", Doc: "slots asked for before it"},
		{Name: "phase", Doc: "0 running, 1 paused, 2 stopped, 3 ended"},
		{Name: "prev", Doc: "the law that it follows"},
		{Name: "cut", Doc: "how many slots of that one are asked for"},
		{Name: "plan", Doc: "number of its plan"},
		{Name: "piece", Doc: "how many pieces of the plan are taken"},
		{Name: "s0", Of: "l.rest.r0", Doc: "the rest of a piece that was interrupted: r0, r1, den, dur"},
		{Name: "s1", Of: "l.rest.r1"},
		{Name: "sden", Of: "l.rest.den"},
		{Name: "sdur", Of: "l.rest.dur"},
		{Name: "ends", Doc: "when the run ends by its plan, µs; 2^52 = never; of a paused law: how much is left"},
		{Name: "stop", Doc: "when the last of a number of requests is due, µs; 0 = there is no such number"},
		{Name: "clockEpoch", Doc: "number of the first law of its clock epoch"},
		{Name: "seed", Doc: "of Poisson arrivals"},
	}
}

// rangeFields are the numbers of a range of the circle that somebody holds, or that is free; bareFields those of one of a
// target. An entry of the log is a range: there from is where the owner began, and since where it ended. Its name follows.
func rangeFields() []Field {
	return append(bareFields(), Field{Name: "fg", Doc: "from this law"}, Field{Name: "fk", Doc: "and this slot of it on its owner sends"},
		Field{Name: "sg", Doc: "since this law"}, Field{Name: "sk", Doc: "and this slot of it the log does not have it"})
}

func bareFields() []Field {
	return []Field{{Name: "lo", Doc: "its first place"}, {Name: "hi", Doc: "the place behind its last one"}}
}

// callFields are the numbers of a call of renew, headFields those of its reply (pacer/lease/form.go).
func callFields() []Field {
	return []Field{{Name: "seq"}, {Name: "weight"}, {Name: "known"}, {Name: "version"}, {Name: "leaving"}, {Name: "p"}, {Name: "clockEpoch"}}
}

func headFields() []Field {
	return []Field{{Name: "seq"}, {Name: "clockEpoch"}, {Name: "now"}, {Name: "p"}, {Name: "members"}, {Name: "wait"}, {Name: "version"}}
}

// ledgerFields are the numbers of the ledger of budgets; then comes the identity of the server that the rows belong to.
func ledgerFields() []Field {
	return []Field{
		{Name: "first", Doc: "when this server was first called"},
		{Name: "now", Doc: "the highest time seen"},
		{Name: "quiet", Doc: "until when nothing new is granted; 0 = it is over"},
		{Name: "version", Doc: "the highest version of a row or a budget"},
	}
}

// budgetFields are the numbers of a budget.
func budgetFields() []Field {
	return []Field{
		{Name: "rate", Doc: "requests per 1,000,000 s; 2^52 = none"},
		{Name: "version", Doc: "of the rate"},
		{Name: "frozen", Doc: "1 = no run may send"},
		{Name: "freeze", Doc: "version of frozen"},
	}
}

// rowFields are the numbers of a row of the ledger: what a run may send at a host. Then comes what people are shown of it.
func rowFields() []Field {
	return []Field{
		{Name: "rate", Doc: "requests per 1,000,000 s"},
		{Name: "version", Doc: "another one after each raise"},
		{Name: "ending", Doc: "when it ends unless it is renewed"},
		{Name: "cap", Doc: "the run has to come down to this rate; 0 = it has not"},
		{Name: "reported", Doc: "version of the budget that the run knows"},
		{Name: "claim", Doc: "version of the run's row that this server has believed; 0 = none"},
		{Name: "claimEnd", Doc: "the end of that row"},
	}
}

// marks are those of a form and how they are replaced. With a prefix, as in $names(record m_), names begin with it.
var marks = regexp.MustCompile(`\$(letters|names|of|table)\((\w+)(?: (\w+))?\)`)

// expand replaces the marks of a text.
func expand(text string) string {
	return marks.ReplaceAllStringFunc(text, func(mark string) string {
		parts := marks.FindStringSubmatch(mark)
		f := formOf(parts[2])
		var out []string
		for _, x := range f.fields {
			out = append(out, f.mark(parts[1], parts[3], x))
		}
		if parts[1] == "letters" {
			return strings.Join(out, "")
		}
		return strings.Join(out, ", ")
	})
}

// mark returns what stands for a field.
func (f form) mark(mark, prefix string, x Field) string {
	switch {
	case mark == "letters":
		return "l"
	case mark == "table":
		return x.Name + " = " + x.Name
	case mark == "names":
		return prefix + x.Name
	case x.Of == "":
		return f.in + x.Name
	}
	return x.Of
}
