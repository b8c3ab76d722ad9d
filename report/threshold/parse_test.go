package threshold_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
)

// k6Thresholds are conditions of k6's documentation (its pages on thresholds, metrics, tags, scenarios and automated
// tests, versions 0.57 to 2.2) with its names for metrics, and their meaning here. Documented custom metrics are
// replaced by a metric of the same type.
func k6Thresholds() map[string]threshold.Threshold {
	service := func(aggregate string, q float64, op string, ms float64) threshold.Threshold {
		return threshold.Threshold{Metric: "service", Aggregate: aggregate, Quantile: q, Op: op, Limit: ms * 1e6}
	}
	return map[string]threshold.Threshold{
		"http_req_failed:rate<0.01":        {Metric: "errors", Aggregate: "rate", Op: "<", Limit: 0.01},
		"http_req_failed: rate < 0.01":     {Metric: "errors", Aggregate: "rate", Op: "<", Limit: 0.01},
		"http_req_failed:rate<=0.05":       {Metric: "errors", Aggregate: "rate", Op: "<=", Limit: 0.05},
		"http_req_failed:rate==0":          {Metric: "errors", Aggregate: "rate", Op: "=="},
		"http_req_failed:rate===0":         {Metric: "errors", Aggregate: "rate", Op: "=="},
		"http_req_duration:p(95)<200":      service("p", 0.95, "<", 200),
		"http_req_duration:p(95) < 500":    service("p", 0.95, "<", 500),
		"http_req_duration:p(90) < 400":    service("p", 0.9, "<", 400),
		"http_req_duration:p(99.9) < 2000": service("p", 0.999, "<", 2000),
		"http_req_duration:p(99) < 3000":   service("p", 0.99, "<", 3000),
		"http_req_duration:p(99)<10.0":     service("p", 0.99, "<", 10),
		"http_req_duration:avg<200":        service("avg", 0, "<", 200),
		"http_req_duration:avg < 400":      service("avg", 0, "<", 400),
		"http_req_duration:med<200":        service("p", 0.5, "<", 200),
		"http_req_duration:max<2000":       service("max", 0, "<", 2000),
		"http_req_duration:max>=0":         service("max", 0, ">=", 0),
		"http_req_duration:min>10":         service("min", 0, ">", 10),
		"http_req_duration:p(0)!=1":        service("p", 0, "!=", 1),
		"http_req_duration:p(90) < 300":    service("p", 0.9, "<", 300),
		"http_req_duration:p(90)<600":      service("p", 0.9, "<", 600),
		"http_req_duration:p(95) < 400":    service("p", 0.95, "<", 400),
		"http_req_duration:p(95) < 800":    service("p", 0.95, "<", 800),
		"http_req_duration:p(95)<50":       service("p", 0.95, "<", 50),
		"http_req_duration:p(95)<250":      service("p", 0.95, "<", 250),
		"http_req_duration:p(95)<500":      service("p", 0.95, "<", 500),
		"http_req_duration:p(99) < 10":     service("p", 0.99, "<", 10),
		"http_req_duration:p(99) < 1000":   service("p", 0.99, "<", 1000),
		"http_req_duration:p(99)<350":      service("p", 0.99, "<", 350),
		"http_req_duration:p(99)<1000":     service("p", 0.99, "<", 1000),
		"http_req_duration:p(99)<300":      service("p", 0.99, "<", 300),
		"http_req_duration:p(99.99)<300":   service("p", 0.9999, "<", 300),
		"http_req_duration:p(70)<250":      service("p", 0.7, "<", 250),
		"http_req_duration:p(50) < 200":    service("p", 0.5, "<", 200),
		"http_req_duration:avg<100":        service("avg", 0, "<", 100),
		"http_req_duration:avg < 200":      service("avg", 0, "<", 200),
		"http_req_duration:med<150":        service("p", 0.5, "<", 150),
		"http_req_duration:min<100":        service("min", 0, "<", 100),
		"http_req_duration:max < 3000":     service("max", 0, "<", 3000),
		"http_req_duration:max<1000":       service("max", 0, "<", 1000),
		"http_req_failed:rate == 0.00":     {Metric: "errors", Aggregate: "rate", Op: "=="},
		"http_req_failed:rate < 0.1":       {Metric: "errors", Aggregate: "rate", Op: "<", Limit: 0.1},
		"http_reqs:count >= 200":           {Metric: "rate", Aggregate: "count", Op: ">=", Limit: 200},
		"http_reqs:count >= 500":           {Metric: "rate", Aggregate: "count", Op: ">=", Limit: 500},
		"http_reqs:count < 10":             {Metric: "rate", Aggregate: "count", Op: "<", Limit: 10},
		"http_reqs:count==3":               {Metric: "rate", Aggregate: "count", Op: "==", Limit: 3},
		"http_reqs:rate<50":                {Metric: "rate", Aggregate: "rate", Op: "<", Limit: 50},
		"checks:rate==1":                   {Metric: "checks", Aggregate: "rate", Op: "==", Limit: 1},
		"checks:rate==1.0":                 {Metric: "checks", Aggregate: "rate", Op: "==", Limit: 1},
		"checks:rate == 1.00":              {Metric: "checks", Aggregate: "rate", Op: "==", Limit: 1},
		"checks:rate>0.95":                 {Metric: "checks", Aggregate: "rate", Op: ">", Limit: 0.95},
		"checks:rate >= 0.9":               {Metric: "checks", Aggregate: "rate", Op: ">=", Limit: 0.9},
		"http_reqs:count<100":              {Metric: "rate", Aggregate: "count", Op: "<", Limit: 100},
		"http_reqs:rate>100":               {Metric: "rate", Aggregate: "rate", Op: ">", Limit: 100},
		"checks:rate>0.9":                  {Metric: "checks", Aggregate: "rate", Op: ">", Limit: 0.9},
		"checks:rate>=0.99":                {Metric: "checks", Aggregate: "rate", Op: ">=", Limit: 0.99},
	}
}

// ownThresholds are conditions that k6 does not have.
func ownThresholds() map[string]threshold.Threshold {
	return map[string]threshold.Threshold{
		"latency:p(99)<250ms":                    {Metric: "latency", Aggregate: "p", Quantile: 0.99, Op: "<", Limit: 250e6},
		"latency:p(100)<=1.5s":                   {Metric: "latency", Aggregate: "p", Quantile: 1, Op: "<=", Limit: 1.5e9},
		"\tlatency : p( 50 )  <  100us  ":        {Metric: "latency", Aggregate: "p", Quantile: 0.5, Op: "<", Limit: 100e3},
		"first_byte:p(99)<80ms":                  {Metric: "first_byte", Aggregate: "p", Quantile: 0.99, Op: "<", Limit: 80e6},
		"first_byte{step=pay}:med<=80":           {Metric: "first_byte", Step: "pay", Aggregate: "p", Quantile: 0.5, Op: "<=", Limit: 80e6},
		"first_event:p(95)<500ms":                {Metric: "first_event", Aggregate: "p", Quantile: 0.95, Op: "<", Limit: 500e6},
		"ttft:p(95)<500ms":                       {Metric: "first_event", Aggregate: "p", Quantile: 0.95, Op: "<", Limit: 500e6},
		"first_event_service{step=chat}:med<1s":  {Metric: "first_event_service", Step: "chat", Aggregate: "p", Quantile: 0.5, Op: "<", Limit: 1e9},
		"event_gap:p(99)<80":                     {Metric: "event_gap", Aggregate: "p", Quantile: 0.99, Op: "<", Limit: 80e6},
		"itl:avg<80ms":                           {Metric: "event_gap", Aggregate: "avg", Op: "<", Limit: 80e6},
		"tpot{step=a}:max<80ms":                  {Metric: "per_token", Step: "a", Aggregate: "max", Op: "<", Limit: 80e6},
		"stream:min>1s":                          {Metric: "stream", Aggregate: "min", Op: ">", Limit: 1e9},
		"itl:max<1s over 5s abort after 2":       {Metric: "event_gap", Aggregate: "max", Op: "<", Limit: 1e9, Over: 5 * time.Second, Abort: 2},
		"goodput:rate>95% over 5s":               {Metric: "goodput", Aggregate: "rate", Op: ">", Limit: 0.95, Over: 5 * time.Second},
		"goodput:rate>95%":                       {Metric: "goodput", Aggregate: "rate", Op: ">", Limit: 0.95},
		"goodput{step=a}:count>=1k":              {Metric: "goodput", Step: "a", Aggregate: "count", Op: ">=", Limit: 1000},
		"events:rate>2.5k/s":                     {Metric: "events", Aggregate: "rate", Op: ">", Limit: 2500},
		"events:count>1M":                        {Metric: "events", Aggregate: "count", Op: ">", Limit: 1e6},
		"connect:p(99)<5ms":                      {Metric: "connect", Aggregate: "p", Quantile: 0.99, Op: "<", Limit: 5e6},
		"dns:max<1s":                             {Metric: "dns", Aggregate: "max", Op: "<", Limit: 1e9},
		"tls:avg<20ms":                           {Metric: "tls", Aggregate: "avg", Op: "<", Limit: 20e6},
		"lag:max<1h":                             {Metric: "lag", Aggregate: "max", Op: "<", Limit: 3600e9},
		"lag:avg<7µs":                            {Metric: "lag", Aggregate: "avg", Op: "<", Limit: 7e3},
		"lag:avg<7μs":                            {Metric: "lag", Aggregate: "avg", Op: "<", Limit: 7e3},
		"service:med<2m":                         {Metric: "service", Aggregate: "p", Quantile: 0.5, Op: "<", Limit: 120e9},
		"service:min>=500ns":                     {Metric: "service", Aggregate: "min", Op: ">=", Limit: 500},
		"errors:rate<1% over 10s":                {Metric: "errors", Aggregate: "rate", Op: "<", Limit: 0.01, Over: 10 * time.Second},
		"errors:count==0 over 1m30s":             {Metric: "errors", Aggregate: "count", Op: "==", Over: 90 * time.Second},
		"errors:rate<1% over 5s abort after 3":   {Metric: "errors", Aggregate: "rate", Op: "<", Limit: 0.01, Over: 5 * time.Second, Abort: 3},
		"errors:rate<1% over 5m abort  after300": {Metric: "errors", Aggregate: "rate", Op: "<", Limit: 0.01, Over: 5 * time.Minute, Abort: 300},
		"latency:p(95)<500 over 24h":             {Metric: "latency", Aggregate: "p", Quantile: 0.95, Op: "<", Limit: 500e6, Over: 24 * time.Hour},
		"rate:avg>950/s":                         {Metric: "rate", Aggregate: "avg", Op: ">", Limit: 950},
		"rate:rate>2.5k over 5s":                 {Metric: "rate", Aggregate: "rate", Op: ">", Limit: 2500, Over: 5 * time.Second},
		"rate:rate>30/m":                         {Metric: "rate", Aggregate: "rate", Op: ">", Limit: 0.5},
		"rate:count>1.5M":                        {Metric: "rate", Aggregate: "count", Op: ">", Limit: 1.5e6},
		"dropped:rate<0.1%":                      {Metric: "dropped", Aggregate: "rate", Op: "<", Limit: 0.001},
		"dropped:count<10":                       {Metric: "dropped", Aggregate: "count", Op: "<", Limit: 10},
		"status:count>0":                         {Metric: "status", Aggregate: "count", Op: ">"},
		"status{code=503}:count==0":              {Metric: "status", Code: "503", Aggregate: "count", Op: "=="},
		"status { code : 5xx } : rate < 1%":      {Metric: "status", Code: "5xx", Aggregate: "rate", Op: "<", Limit: 0.01},
	}
}

// TestParseThreshold: k6's conditions unchanged, and our own.
func TestParseThreshold(t *testing.T) {
	for _, table := range []map[string]threshold.Threshold{k6Thresholds(), ownThresholds(), guards()} {
		for text, want := range table {
			got, err := threshold.Parse(text)
			want.Text = text
			if err != nil || !sameLimit(&got, want) {
				t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
			}
		}
	}
}

// sameLimit reports whether both are equal up to the last digit of numbers.
func sameLimit(a *threshold.Threshold, b threshold.Threshold) bool {
	close := func(x, y float64) bool { return x == y || x/y > 1-1e-12 && x/y < 1+1e-12 }
	same := close(a.Limit, b.Limit) && close(a.Quantile, b.Quantile)
	a.Limit, a.Quantile = b.Limit, b.Quantile
	return same && *a == b
}

// A badThreshold is refused at a column, with this text.
type badThreshold struct {
	text   string
	column int
	says   string
}

// badMetrics have an unknown metric, or no colon after it.
func badMetrics() []badThreshold {
	return []badThreshold{
		{"", 1, "name a metric, as in latency:p(99)<250ms"},
		{" ", 2, "name a metric"},
		{"p(95)<200", 1, "name a metric"},
		{"rate<0.01", 5, "a colon has to follow the metric"},
		{"latencies:p(99)<1", 1, "there are latency, service, lag, first_byte, dns, connect, tls, errors, checks, rate, dropped, status"},
		{"Latency:p(99)<1", 1, "name a metric"},
		{"iteration_duration:p(99)<1", 1, "name a metric"},
		{"dropped_iterations:count<1", 1, "name a metric"},
		{":p(99)<1", 1, "name a metric"},
		{"latency", 8, "a colon has to follow"},
		{"latency p(99)<1", 9, "a colon has to follow"},
		{"latency;p(99)<1", 8, "a colon has to follow"},
		{"µlatency:p(99)<1", 1, "name a metric"},
	}
}

// badAggregates have an aggregate that the metric lacks, or no comparison after it.
func badAggregates() []badThreshold {
	return []badThreshold{
		{"latency:", 9, "latency has avg, min, max, med, p(0) to p(100)"},
		{"latency:value<1", 9, "latency has avg"},
		{"latency:count<1", 9, "latency has avg"},
		{"latency:rate<1", 9, "latency has avg"},
		{"latency:P(99)<1", 9, "latency has avg"},
		{"latency:p95<1", 10, "write the percentile in parentheses, as in p(99.9)"},
		{"latency:p<1", 10, "in parentheses"},
		{"latency:p()<1", 11, "from 0 to 100"},
		{"latency:p(101)<1", 11, "from 0 to 100"},
		{"latency:p(100.01)<1", 11, "from 0 to 100"},
		{"latency:p(-1)<1", 11, "from 0 to 100"},
		{"latency:p(1.2.3)<1", 11, "from 0 to 100"},
		{"latency:p(.5)<1", 11, "from 0 to 100"},
		{"latency:p(ninety)<1", 11, "from 0 to 100"},
		{"latency:p(99<1", 13, "the closing parenthesis is missing"},
		{"latency:p(99", 13, "the closing parenthesis is missing"},
		{"latency:p(99)", 14, "compare with <, <=, >, >=, == or !="},
		{"latency:p(99)=1", 14, "compare with"},
		{"latency:p(99)≤1", 14, "compare with"},
		{"latency:p(99)is1", 14, "compare with"},
		{"errors:avg<1", 8, "errors has rate, count"},
		{"rate:p(5)>900", 6, "rate has rate, count, avg"},
	}
}

// badLimits have a limit that the metric cannot have.
func badLimits() []badThreshold {
	return []badThreshold{
		{"latency:p(99)<", 15, "give a limit"},
		{"latency:p(99)<<1", 15, "give a limit"},
		{"latency:p(99)<-1", 15, "a number that is not negative"},
		{"latency:p(99)<many", 15, "give a limit"},
		{"latency:p(99)<.5", 15, "give a limit"},
		{"latency:p(99)<5.", 15, "give a limit"},
		{"latency:p(99)<1e3", 16, `"e" is not a valid unit here`},
		{"latency:p(99)<1sec", 16, `"sec" is not a valid unit`},
		{"latency:p(99)<1%", 16, `"%" is not a valid unit`},
		{"latency:p(99)<5µµ", 16, `"µµ" is not a valid unit`},
		{"latency:p(99)<0", 15, "nothing is less than 0"},
		{"latency:p(99)<2h", 15, "up to 1h"},
		{"latency:p(99)<1m30s", 17, `"30s" does not belong there`},
		{"latency:p(99)<1 ms", 17, `"ms" does not belong there`},
		{"latency:p(99)<1 && x", 17, "does not belong there"},
		{"errors:rate<5", 13, "a share is at most 1, or 100%; for 5 percent write 5%"},
		{"errors:rate<150%", 13, "a share is at most 1, or 100%"},
		{"errors:rate<101%", 13, "a share is at most 1"},
		{"errors:rate<1ms", 14, "is not a valid unit"},
		{"errors:count<1%", 15, "is not a valid unit"},
		{"rate:rate>900/d", 14, "is not a valid unit"},
		{"latency:p(99)<" + strings.Repeat("9", 300), 1, "longer than 200 bytes"},
	}
}

// badWindows have text after the limit that is neither a window nor an abort.
func badWindows() []badThreshold {
	return []badThreshold{
		{"errors:rate<1% over", 16, "does not belong there"},
		{"errors:rate<1% over 10", 21, "whole seconds from 1s"},
		{"errors:rate<1% over 0s", 21, "whole seconds"},
		{"errors:rate<1% over 1500ms", 21, "whole seconds"},
		{"errors:rate<1% over 25h", 21, "whole seconds"},
		{"errors:rate<1% over -5s", 21, "whole seconds"},
		{"errors:rate<1% over ten", 21, "whole seconds"},
		{"errors:rate<1% over 5s over 5s", 24, "does not belong there"},
		{"errors:rate<1% for 5s", 16, "does not belong there"},
		{"service:p(9)<1 over 5s", 16, "service is known for the whole run only; leave out 'over', or use one of latency, errors, checks, rate"},
		{"status:count<1 over 5s", 16, "status is known for the whole run only"},
		{"errors:rate<1% abort after 3", 16, "abort counts windows; say how long they are"},
		{"errors{step=a}:rate<1% abort after 3", 24, "a step is known for the whole run only; leave out 'abort', or the step"},
		{"errors:rate<1% over 5s abort", 29, "write abort after 3"},
		{"errors:rate<1% over 5s abort 3", 30, "write abort after 3"},
		{"errors:rate<1% over 5s abort after", 35, "the number of windows in a row, 1 to 300"},
		{"errors:rate<1% over 5s abort after 0", 36, "the number of windows in a row"},
		{"errors:rate<1% over 5s abort after 301", 36, "the number of windows in a row"},
		{"errors:rate<1% over 5s abort after 3s", 37, "does not belong there"},
		{"errors:rate<1% over 6m abort after 3", 36, "at most 5m0s long"},
	}
}

// badTags use tags that do not exist here.
func badTags() []badThreshold {
	return []badThreshold{
		{"latency{step=pay}:p(99)<1 over 10s", 27, "a step is known for the whole run only"},
		{"latency{step=pay,step=buy}:p(99)<1", 18, "only one step is allowed"},
		{"dropped{step=pay}:count<1", 9, "steps have latency, first_byte, errors, checks, rate"},
		{"http_req_duration{type:API}:p(95)<500", 19, "there is no tag type"},
		{"checks{myTag:hola}:rate>0.9", 8, "there is no tag myTag"},
		{"latency{code=500}:p(99)<1", 9, "there is no tag code"},
		{"status{code=500,step=a}:count<1", 17, "steps have latency, first_byte, errors, checks, rate"},
		{"status{code=500,code=501}:count<1", 17, "only one code is allowed"},
		{"status{code=50}:count<1", 13, "write 503 or 5xx"},
		{"status{code=50x}:count<1", 13, "write 503 or 5xx"},
		{"status{code=x0x}:count<1", 13, "write 503 or 5xx"},
		{"status{code=}:count<1", 13, "tag code has no value"},
		{"status{code}:count<1", 12, "write a tag as {NAME=VALUE}"},
		{"status{}:count<1", 8, "write a tag as {NAME=VALUE}"},
		{"status{code=500:count<1", 13, "write 503 or 5xx"},
		{"status{code=500", 16, "the closing brace is missing"},
		{"status{code=500}count<1", 17, "a colon has to follow"},
	}
}

// badPhases are conditions on parts of requests and on connections.
func badPhases() []badThreshold {
	whole := "is known for the whole run only; leave out 'over', or use one of latency, errors, checks, rate, first_event, first_event_service, event_gap, stream, per_token, events, goodput, query"
	return []badThreshold{
		{"first_byte:p(99)<80ms over 10s", 23, "first_byte " + whole},
		{"dns:max<1s over 5s abort after 3", 12, "dns " + whole},
		{"event_gap{step=a}:max<1s over 5s", 26, "a step is known for the whole run only"},
		{"goodput:count>95 over 5s reduce by 20% after 2", 26, "a lower rate cannot mend this"},
		{"goodput:rate>95", 14, "a share is at most 1"},
		{"goodput:p(99)<1", 9, "goodput has rate, count"},
		{"events:rate>95%", 15, "write the limit as in 950"},
		{"ttft:rate<1%", 6, "first_event has avg"},
		{"connect:p(99)<5ms over 10s reduce by 20% after 3", 19, "connect " + whole},
		{"tls:avg<5ms over 1s", 13, "tls " + whole},
		{"first_byte:p(99)<80ms abort after 3", 23, "abort counts windows; say how long they are"},
		{"first_byte{step=a}:p(99)<80ms over 10s", 31, "a step is known for the whole run only"},
		{"connect{step=a}:p(99)<5ms", 9, "steps have latency, first_byte, errors, checks, rate"},
		{"dns{step=a}:p(99)<5ms", 5, "steps have latency, first_byte"},
		{"tls{host=a}:p(99)<5ms", 5, "there is no tag host"},
		{"first_byte:rate<1%", 12, "first_byte has avg, min, max, med, p(0) to p(100)"},
		{"connect:count<5", 9, "connect has avg"},
		{"firstbyte:p(99)<80ms", 1, "name a metric"},
		{"first-byte:p(99)<80ms", 1, "name a metric"},
		{"first_byte_ns:p(99)<80ms", 1, "name a metric"},
		{"first_byte:p(99)<80%", 20, "write the limit as in 250ms"},
		{"tls:p(101)<5ms", 7, "a percentile is a number from 0 to 100"},
		{"dns:p(99)<2h", 11, "times are measured up to 1h"},
	}
}

// badForHere are conditions of k6's documentation that are not supported: sub-metrics, groups, scenarios, other
// metrics; and those that k6's own parser refuses.
func badForHere() []badThreshold {
	return []badThreshold{
		{"http_req_duration{status:200}:p(95)<1000", 19, "there is no tag status;"},
		{"http_req_duration{expected_response:true}:p(95)<500", 19, "there is no tag expected_response"},
		{"http_req_duration{scenario:default}:max>=0", 19, "there is no tag scenario"},
		{"http_req_duration{name:https://a.b/c}:p(95)<500", 19, "there is no tag name"},
		{"http_req_failed{method:POST}:rate<0.01", 17, "there is no tag method"},
		{"http_reqs{container_group:main}:count==3", 11, "there is no tag container_group"},
		{"http_reqs{status:503}:count==0", 11, "there is no tag status"},
		{"group_duration{group:::individualRequests}:avg < 400", 1, "name a metric"},
		{"http_req_waiting:p(95)<200", 1, "name a metric"},
		{"http_req_connecting:max<100", 1, "name a metric"},
		{"grpc_req_duration:p(95)<200", 1, "name a metric"},
		{"browser_web_vital_lcp:p(90)<1000", 1, "name a metric"},
		{"data_received:count<1000", 1, "name a metric"},
		{"vus:value>1", 1, "name a metric"},
		{"http_reqs:count!20", 16, "compare with"},
		{"http_reqs:foo>20", 11, "rate has rate, count, avg"},
		{"http_reqs:value < 200", 11, "rate has rate, count, avg"},
		{"http_reqs:count>abc", 17, "give a limit"},
		{"http_reqs:p(95)<200", 11, "rate has rate, count, avg"},
		{"http_req_failed:avg<0.1", 17, "errors has rate, count"},
		{"http_req_duration:rate<0.1", 19, "service has avg"},
		{"http_req_duration:p(99", 23, "the closing parenthesis is missing"},
		{"http_req_duration:p(NaN)<200", 21, "from 0 to 100"},
		{"http_req_duration:p(+Inf)<200", 21, "from 0 to 100"},
		{"http_req_duration:p95<200", 20, "write the percentile in parentheses"},
	}
}

// TestBadThresholds: each error names the column, and says what to write.
func TestBadThresholds(t *testing.T) {
	bad := slices.Concat(badMetrics(), badAggregates(), badLimits(), badWindows(), badGuards(), badTags(), badForHere(), badPhases())
	if len(bad) < 40 {
		t.Errorf("%d are too few", len(bad))
	}
	for _, b := range bad {
		_, err := threshold.Parse(b.text)
		where := fmt.Sprintf("column %d: ", b.column)
		if err == nil || !strings.Contains(err.Error(), where) || !strings.Contains(err.Error(), b.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s%s", b.text, err, where, b.says)
		}
	}
}

// FuzzParseThreshold: for any input it returns a condition that can be judged, or an error with a column.
func FuzzParseThreshold(f *testing.F) {
	for _, table := range []map[string]threshold.Threshold{k6Thresholds(), ownThresholds(), guards()} {
		for text := range table {
			f.Add(text)
		}
	}
	f.Add("status{code=\xff}:count<\x00")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := threshold.Parse(text)
		if err != nil {
			if !strings.Contains(err.Error(), ", column ") || len(err.Error()) > 1000 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		again, err := threshold.Parse(strings.TrimSpace(got.Text))
		if err != nil || !again.Same(got) || got.Limit < 0 || got.Quantile < 0 || got.Quantile > 1 || got.Over < 0 || !validReduce(got) {
			t.Errorf("%q: %+v, once more %+v, %v", text, got, again, err)
		}
		r := report.Build(report.Input{Running: true, Thresholds: []threshold.Threshold{got}})
		if r.Thresholds[0].Result != threshold.Undecided {
			t.Errorf("%q: %+v of nothing", text, r.Thresholds[0])
		}
	})
}

// TestPercentIsExact asserts that a percentage is the number that it stands for: what meets it exactly is not below it.
func TestPercentIsExact(t *testing.T) {
	for percent := range 101 {
		parsed, err := threshold.Parse(fmt.Sprintf("checks:rate>=%d%%", percent))
		if want := float64(percent) / 100; err != nil || parsed.Limit != want {
			t.Errorf("%d%% is %v, want %v, error %v", percent, parsed.Limit, want, err)
		}
	}
}
