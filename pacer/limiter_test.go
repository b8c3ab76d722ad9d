package pacer_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/pacer"
)

// The places of a reply's numbers: figures, a permit, a law; those of the array's second text.
const (
	atFirst = iota
	atN
	atYield
	atHand
	atLeasedAt
	atNext
	atMembers
	atWeights
	atVersion
	atHorizon
	atStood
	atPermit
	atPermitC = atPermit + 2
	atFrom    = atPermit + 3
	atUntil   = atPermit + 4

	atLaw = atPermit + 5
	atDen = atLaw + 5
	atK   = atLaw + 7

	atNow       = atLaw + 9
	atRead      = atNow + 1
	allNumbers  = atRead + 1
	goodRecalls = "6:1700000000000000:5:100;7:1700000000000000:6:0"
)

// fields is the array of a good reply, with some numbers put in the place of others: place, number, …
func fields(change ...int64) []string { return said("OK|"+goodRecalls, change...) }

// said is fields with other texts behind the numbers.
func said(texts string, change ...int64) []string {
	v := []int64{
		32, 16, 0, 0, 1700000000099999, 1700000000200000, 3, 5, 42, 500000, 0,
		250000000, 1700000000000000, 618033, 1700000000600000, 1700000010000000,
		7, 1700000000000000, 0, 1000, 1000, 1, 0, pacer.Endless, 16,
		1700000000100000, 1700000000100001,
	}
	for i := 0; i < len(change); i += 2 {
		v[change[i]] = change[i+1]
	}
	return []string{packed(v[:atNow]...) + texts, packed(v[atNow:]...)}
}

// packed is numbers as the scripts write them.
func packed(v ...int64) string {
	var text []byte
	for _, x := range v {
		text = binary.LittleEndian.AppendUint64(text, uint64(x))
	}
	return string(text)
}

// none is that there is no law or no permit at a place of this many numbers.
func none(at, n int64) (change []int64) {
	for i := range n {
		change = append(change, at+i, 0)
	}
	return change
}

func TestParseReply(t *testing.T) {
	good := pacer.Law{ID: 7, T0: 1_700_000_000_000_000, R0: 1000, R1: 1000, Den: 1, K: pacer.Endless, F: 16}
	held := pacer.Permit{
		Law:  pacer.Law{T0: 1_700_000_000_000_000, C: 618_033, R0: 250_000_000, R1: 250_000_000, Den: 1_000_000, K: pacer.Endless, F: 1},
		From: 1_700_000_000_600_000, Until: 1_700_000_010_000_000,
	}
	full := pacer.Reply{
		Status: pacer.StatusOK, Range: pacer.Range{Law: good, First: 32, N: 16},
		Now: 1_700_000_000_100_000, Time: 1_700_000_000_100_001, LeasedAt: 1_700_000_000_099_999, Next: 1_700_000_000_200_000,
		Members: 3, Weights: 5, Version: 42, Permit: held, Horizon: 500_000,
		Recalls: pacer.Recalls{{ID: 6, T0: 1_700_000_000_000_000, Prev: 5, Cut: 100}, {ID: 7, T0: 1_700_000_000_000_000, Prev: 6}},
	}
	nothing := full
	nothing.Range = pacer.Range{}
	outage := full
	outage.Range.Yield, outage.Hand = 250_000, 1_700_000_000_300_000
	left := full
	left.Stood = pacer.LeftUnseen
	bare := full
	bare.Permit = pacer.Permit{}
	atOnce := full
	atOnce.Now, atOnce.Time = full.LeasedAt, full.LeasedAt
	last := full
	last.Range.Law.K, last.Range.First = 48, 32
	for name, c := range map[string]struct {
		fields []string
		want   pacer.Reply
	}{
		"a grant":                      {fields(), full},
		"nothing":                      {fields(append(none(atLaw, 9), atN, 0)...), nothing},
		"nothing, whatever its law":    {fields(atDen, -1, atN, 0), nothing},
		"yield and hand":               {fields(atYield, 250_000, atHand, 1_700_000_000_300_000), outage},
		"the last slots of a law":      {fields(atK, 48), last},
		"no permit":                    {fields(none(atPermit, 5)...), bare},
		"not the plan any more":        {fields(atStood, -2), left},
		"at the time it was made":      {fields()[:1], atOnce},
		"no state: everything is zero": {said("NOSTATE|", none(0, allNumbers)...), pacer.Reply{Status: pacer.StatusNoState}},
	} {
		if got, err := pacer.ParseReply(c.fields); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

func TestParseReplyRefuses(t *testing.T) {
	cases := map[string][]string{
		"nothing at all":              nil,
		"an empty text":               {""},
		"a text too many":             append(fields(), ""),
		"numbers cut off":             {fields()[0][:8*atNow-1]},
		"numbers only":                {fields()[0][:8*atNow]},
		"a number too few":            {fields()[0][8:], fields()[1]},
		"a number too many":           {packed(0) + fields()[0], fields()[1]},
		"few numbers and no state":    {said("REPLACED|", none(0, allNumbers)...)[0][8:]},
		"many numbers and no state":   {packed(0) + said("REPLACED|", none(0, allNumbers)...)[0]},
		"a status only":               said("OK"),
		"no status":                   said("|"),
		"a status that there is not":  said("FINE|"),
		"a part too many":             said("OK|" + goodRecalls + "|"),
		"a clock too few":             {fields()[0], packed(1_700_000_000_100_000)},
		"a clock too many":            {fields()[0], fields()[1] + packed(0)},
		"clocks as text":              {fields()[0], "1700000000100000"},
		"no law":                      fields(none(atLaw, 9)...),
		"a law without sense":         fields(atDen, 0),
		"first behind the last slot":  fields(atK, 40, atFirst, 41, atN, 1),
		"more than there are":         fields(atK, 40, atFirst, 32, atN, 9),
		"first + n overflows":         fields(atFirst, pacer.Endless, atN, math.MaxInt64),
		"first + n beyond endless":    fields(atFirst, pacer.Endless-6, atN, 7),
		"recalls that are a law":      said("OK|7:1700000000000000:0:1000:1000:1:0:4503599627370496:16"),
		"recalls cut off":             said("OK|6:1700000000000000:5:100;7:17000"),
		"recalls of words":            said("OK|a:b:c:d"),
		"recalls, though no range":    said("OK|;", atN, 0),
		"more yielded than leased":    fields(atYield, 1_000_001),
		"half a permit":               fields(none(atFrom, 2)...),
		"a permit of no rate":         fields(atPermit, 0),
		"a permit of a wild rate":     fields(atPermit, pacer.Endless+1),
		"a permit of a negative rate": fields(atPermit, -250),
		"a permit before its law":     fields(atFrom, 1_600_000_000_600_000),
		"a permit that ends first":    fields(atUntil, 1_700_000_000_500_000),
		"a permit of a wild phase":    fields(atPermitC, 1_000_000),
		"a permit without end":        fields(atUntil, math.MaxInt64),
		"stood for ever":              fields(atStood, pacer.Endless+1),
		"stood for less than nothing": fields(atStood, -3),
	}
	for _, i := range []int64{atFirst, atN, atYield, atHand, atLeasedAt, atNext, atMembers, atWeights, atVersion, atHorizon, atNow, atRead} {
		for _, x := range []int64{-1, pacer.Endless + 1, math.MaxInt64, math.MinInt64} {
			cases[fmt.Sprintf("number %d is %d", i, x)] = fields(i, x)
		}
	}
	for name, f := range cases {
		if got, err := pacer.ParseReply(f); err == nil || !reflect.DeepEqual(got, pacer.Reply{}) || !strings.HasPrefix(err.Error(), "lease reply: ") {
			t.Errorf("%s: %+v, %v; want only an error", name, got, err)
		}
	}
}

func FuzzParseReply(f *testing.F) {
	for _, array := range [][]string{fields(), fields(atN, 0), said("OK|"), said("NOSTATE|" + goodRecalls), fields(atN, -1)} {
		f.Add(array[0], array[1], true)
		f.Add(array[0], "", false)
	}
	f.Fuzz(func(t *testing.T, text, clocks string, both bool) {
		s := []string{text, clocks}
		if !both {
			s = s[:1]
		}
		r, err := pacer.ParseReply(s)
		if err != nil {
			if !reflect.DeepEqual(r, pacer.Reply{}) {
				t.Fatalf("%q: %+v beside %v", s, r, err)
			}
			return
		}
		for _, v := range []int64{r.Range.First, r.Range.N, r.Range.Yield, r.Hand, r.Now, r.Time, r.LeasedAt, r.Next, r.Members, r.Weights, r.Version, r.Permit.Phi(), r.Permit.From, r.Permit.Until, r.Horizon} {
			if v < 0 || v > pacer.Endless {
				t.Fatalf("%q: %+v has a number out of range", s, r)
			}
		}
		if r.Range.First+r.Range.N > r.Range.Law.K {
			t.Fatalf("%q: %+v is outside its generation", s, r.Range)
		}
		c := r.Range.Cursor(0, 1)
		for i := int64(0); c.Ok() && i < 3; i++ {
			if slot := c.Slot(); slot < 0 || slot >= r.Range.Law.K || r.Range.N < i+1 {
				t.Fatalf("%q: %+v yields slot %d", s, r.Range, slot)
			}
			r.Recalls.Recalled(c.Generation(), c.Slot(), c.Due())
			c.Next()
		}
	})
}
