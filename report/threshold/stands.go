package threshold

// The generator is a part of each run. At its limit it sends requests late, or drops them, or reads answers late. A
// result is the endpoint's only if it stands whatever the generator did:
//
//	latency, lag, dropped,  the generator only raises them: latency counts from when a request was due, and a dropped
//	first_event, stream     request counts as slower than all others. So an upper limit that is met stands, and so does
//	                        a lower limit that is missed
//	errors, checks,         an answer is the endpoint's, however late its request was. So a limit on failures that is
//	status                  missed stands. If it is met, it stands if the requests came on time: late ones spread a peak
//	query                   somebody else has measured it. A limit that is missed stands, because the endpoint had the load
//	                        or less. If it is met, it stands if the requests came on time
//	service, rate,          the generator raises or lowers them: nothing stands
//	first_byte, dns,
//	connect, tls,
//	first_event_service,
//	event_gap, per_token,
//	events, goodput
//
// A closed loop asks for less if it is slow, and latency counts from sending. So there only a limit on failures stands,
// if it is missed.

// Stands reports whether a result of the threshold is the endpoint's although the generator delayed requests. onTime:
// nearly all were sent when they were due.
func (t Threshold) Stands(result string, onTime bool) bool {
	switch t.Metric {
	case "latency", "lag", "dropped", "first_event", "stream":
		return result == Passed && t.fromAbove() || result == Failed && t.fromBelow()
	case "query":
		return result == Failed || result == Passed && onTime
	default:
		return t.LimitsFailures() && (result == Failed || result == Passed && onTime)
	}
}

// LimitsFailures reports whether the threshold limits what the endpoint does wrong. Counts of good answers have another
// limit: they also need requests.
func (t Threshold) LimitsFailures() bool {
	share := t.Aggregate == "rate"
	switch t.Metric {
	case "errors":
		return t.fromAbove()
	case "checks":
		return share && t.fromBelow()
	case "status": // of an expected status or of another one
		return t.fromAbove() || share && t.fromBelow()
	default:
		return false
	}
}

// fromAbove reports whether the limit is an upper one: smaller values meet it as well.
func (t Threshold) fromAbove() bool {
	return t.Op == "<" || t.Op == "<=" || t.Op == "==" && t.Limit == 0
}

// fromBelow reports whether the limit is a lower one: larger values meet it as well.
func (t Threshold) fromBelow() bool {
	return t.Op == ">" || t.Op == ">=" || t.Op == "==" && t.Limit == 1 && t.Kind() == ShareKind
}
