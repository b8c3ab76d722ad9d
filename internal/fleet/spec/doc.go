// Package spec is what a run is asked to do: target, rate over time, limiter, conditions, and what to do without Redis.
//
//	s := spec.Spec{Target: targets.Spec{URL: "http://127.0.0.1:8080/"}, QPS: pacer.PerSecond(500), …}
//	err := s.Validate() // one line that says what to do
//	plan, err := s.Plan()
//
// A spec does not change while its run exists. It is stored as JSON, with a version.
package spec
