// VUS virtual users for SECONDS: as fast as they go, or with RATE requests a second together.
import http from 'k6/http';

const seconds = `${__ENV.SECONDS}s`;
const vus = Number(__ENV.VUS);
const rate = Number(__ENV.RATE);

export const options = {
	discardResponseBodies: true,
	insecureSkipTLSVerify: true,
	summaryTrendStats: ['p(50)', 'p(90)', 'p(99)'],
	scenarios: {
		all: rate
			? { executor: 'constant-arrival-rate', rate: rate, timeUnit: '1s', duration: seconds, preAllocatedVUs: vus, maxVUs: vus }
			: { executor: 'constant-vus', vus: vus, duration: seconds },
	},
};

export default function () {
	http.get(__ENV.URL);
}

export function handleSummary(data) {
	return { stdout: JSON.stringify({ requests: data.metrics.http_reqs.values, duration_ms: data.metrics.http_req_duration.values }) };
}
