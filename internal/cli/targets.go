package cli

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"

	"github.com/loadctl/loadctl/internal/workload"
	"github.com/loadctl/loadctl/targets"
)

// targetsHelp is the help of --targets.
const targetsHelp = "`FILE` of requests to mix, instead of --url: METHOD URL [weight=N] [name=TEXT], then headers and @BODYFILE, as vegeta has them; " +
	"vegeta's JSON; or a URL a line. See docs/workloads.md#several-requests"

// readTargets reads the requests of --targets. Headers, expected statuses and checks of flags count for all of them; a
// header of the file wins over one of a flag.
func readTargets(s *targets.Spec, path string) error {
	if s.URL != "" || s.Method != "" || len(s.Body) > 0 {
		return errors.New("--targets: the file says what is requested; leave --url, --method and --body out")
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--targets: %w", readable(err))
	}
	flows, err := workload.Targets(path, content)
	if err != nil {
		return fmt.Errorf("--targets: %w", err)
	}
	headers, expect, checks := s.Headers, s.Expect, s.Checks
	s.Headers, s.Expect, s.Checks = nil, "", nil
	for _, f := range flows {
		f.Headers = slices.Concat(f.Headers, besides(headers, f.Headers))
		f.Expect, f.Checks = expect, checks
		one := targets.Spec{Headers: f.Headers, Body: f.Body, Data: s.Data}
		typed(&one)
		f.Headers = one.Headers
		if err := s.CheckStep(f.Step); err != nil {
			return fmt.Errorf("--targets: %s:%d: %w", path, f.Line, err)
		}
		s.Flows = append(s.Flows, f.Flow())
	}
	return nil
}

// besides returns the headers whose names are not among the others.
func besides(headers, others []targets.Header) (all []targets.Header) {
	for _, h := range headers {
		if !slices.ContainsFunc(others, func(o targets.Header) bool { return sameName(o.Name, h.Name) }) {
			all = append(all, h)
		}
	}
	return all
}

func sameName(a, b string) bool { return http.CanonicalHeaderKey(a) == http.CanonicalHeaderKey(b) }
