// VUS virtual users for SECONDS: each gets answers with events, whole, and discards them. Without an extension k6 does not
// see events, so it has no times of them.
import http from 'k6/http';

export const options = {
	discardResponseBodies: true,
	summaryTrendStats: ['p(50)', 'p(90)', 'p(99)'],
	scenarios: { all: { executor: 'constant-vus', vus: Number(__ENV.VUS), duration: `${__ENV.SECONDS}s` } },
};

export default function () {
	http.get(__ENV.URL);
}

export function handleSummary(data) {
	return { stdout: JSON.stringify({ requests: data.metrics.http_reqs.values, duration_ms: data.metrics.http_req_duration.values }) };
}
