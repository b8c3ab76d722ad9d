package pacer_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/pacer"
)

const goodLaw = "7:1700000000000000:0:1000:1000:1:0:4503599627370496:16"
const goodPermit = "250000000:1700000000000000:618033:1700000000600000:1700000010000000"

// The places of a reply's texts in fields: the parts, then the figures, then the other texts of the array.
const (
	atStatus = iota
	atLaw
	atRecalls
	atPermit
	atFirst
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
	atNow
	atRead
)

// fields is the array of a good reply, with some texts put in the place of others: place, text, …
func fields(change ...any) []string {
	f := []string{"OK", goodLaw, "6:1700000000000000:5:100;7:1700000000000000:6:0", goodPermit, "32", "16", "0", "0", "1700000000099999",
		"1700000000200000", "3", "5", "42", "500000", "0", "1700000000100000", "1700000000100001"}
	for i := 0; i < len(change); i += 2 {
		f[change[i].(int)] = change[i+1].(string)
	}
	return []string{strings.Join(f[:atFirst], "|") + "|" + strings.Join(f[atFirst:atNow], ":"), f[atNow], f[atRead]}
}

func TestParseReply(t *testing.T) {
	good, err := pacer.ParseLaw(goodLaw)
	if err != nil {
		t.Fatal(err)
	}
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
		"nothing":                      {fields(atLaw, "", atN, "0"), nothing},
		"nothing, whatever its law":    {fields(atLaw, "-", atN, "0"), nothing},
		"yield and hand":               {fields(atYield, "250000", atHand, "1700000000300000"), outage},
		"the last slots of a law":      {fields(atLaw, strings.Replace(goodLaw, "4503599627370496", "48", 1)), last},
		"no permit":                    {fields(atPermit, ""), bare},
		"not the plan any more":        {fields(atStood, "-2"), left},
		"at the time it was made":      {fields()[:1], atOnce},
		"no state: everything is zero": {[]string{"NOSTATE||||0:0:0:0:0:0:0:0:0:0:0", "0", "0"}, pacer.Reply{Status: pacer.StatusNoState}},
	} {
		if got, err := pacer.ParseReply(c.fields); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

func TestParseReplyRefuses(t *testing.T) {
	finite := strings.Replace(goodLaw, "4503599627370496", "40", 1)
	cases := map[string][]string{
		"nothing at all":              nil,
		"a text too few":              fields()[:2],
		"a text too many":             append(fields(), "0"),
		"a part too few":              {strings.Replace(fields()[0], "|", "", 1)},
		"a part too many":             {fields()[0] + "|"},
		"a figure too few":            {fields()[0][:strings.LastIndex(fields()[0], ":")]},
		"a figure too many":           {fields()[0] + ":0"},
		"no law":                      fields(atLaw, ""),
		"half a law":                  fields(atLaw, "7:1700000000000000:0"),
		"a law without sense":         fields(atLaw, "7:1700000000000000:0:1000:1000:0:0:1:16"),
		"a negative count":            fields(atN, "-1"),
		"a negative first":            fields(atFirst, "-16"),
		"first behind the last slot":  fields(atLaw, finite, atFirst, "41", atN, "1"),
		"more than there are":         fields(atLaw, finite, atFirst, "32", atN, "9"),
		"first + n overflows":         fields(atFirst, "4503599627370496", atN, "9223372036854775807"),
		"first + n beyond endless":    fields(atFirst, "4503599627370490", atN, "7"),
		"recalls that are a law":      fields(atRecalls, goodLaw),
		"recalls cut off":             fields(atRecalls, "6:1700000000000000:5:100;7:17000"),
		"recalls of words":            fields(atRecalls, "a:b:c:d"),
		"recalls, though no range":    fields(atN, "0", atRecalls, ";"),
		"the numbers of another type": fields(atNow, "<nil>"),
		"more yielded than leased":    fields(atYield, "1000001"),
		"a permit cut off":            fields(atPermit, "250:1700000000000000:0:17000"),
		"a permit of no rate":         fields(atPermit, "0:1700000000000000:0:1700000000600000:1700000010000000"),
		"a permit before its law":     fields(atPermit, "250:1700000000000000:0:1600000000600000:1700000010000000"),
		"a permit that ends first":    fields(atPermit, "250:1700000000000000:0:1700000000600000:1700000000500000"),
		"a permit of a wild phase":    fields(atPermit, "250:1700000000000000:1000000:1700000000600000:1700000010000000"),
		"stood for ever":              fields(atStood, "4503599627370497"),
		"stood for less than nothing": fields(atStood, "-3"),
		"stood for a word":            fields(atStood, "x"),
		"a permit without end":        fields(atPermit, "250:1700000000000000:0:1700000000600000:9223372036854775807"),
	}
	for _, i := range []int{atFirst, atN, atYield, atHand, atLeasedAt, atNext, atMembers, atWeights, atVersion, atHorizon, atNow, atRead} {
		for _, text := range []string{"", "-", "x", "1.5", "1e6", "-1", " 1", "0x1", "4503599627370497", "9223372036854775808", "1.7e+15", "nil"} {
			cases[fmt.Sprintf("field %d is %q", i, text)] = fields(i, text)
		}
	}
	for name, f := range cases {
		if got, err := pacer.ParseReply(f); err == nil || !reflect.DeepEqual(got, pacer.Reply{}) || !strings.HasPrefix(err.Error(), "lease reply: ") {
			t.Errorf("%s: %+v, %v; want only an error", name, got, err)
		}
	}
}

func FuzzParseReply(f *testing.F) {
	for _, fields := range [][]string{fields(), fields(atLaw, "", atN, "0"), fields(atRecalls, ""), fields(atStatus, "NOSTATE"), fields(atN, "-1")} {
		f.Add(strings.Join(fields, " "))
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := pacer.ParseReply(strings.Split(s, " "))
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
