// VUS virtual users for SECONDS: each request has a row of the file ROWS as its body, and its answer is checked twice.
import http from 'k6/http';
import { check } from 'k6';
import { SharedArray } from 'k6/data';
import exec from 'k6/execution';

const rows = new SharedArray('rows', () => open(__ENV.ROWS).trim().split('\n').slice(1).map((line) => {
	const [id, name] = line.split(',');
	return { id: id, name: name };
}));

export const options = {
	summaryTrendStats: ['p(50)', 'p(90)', 'p(99)'],
	scenarios: { all: { executor: 'constant-vus', vus: Number(__ENV.VUS), duration: `${__ENV.SECONDS}s` } },
};

export default function () {
	const row = rows[exec.scenario.iterationInTest % rows.length];
	const answer = http.post(__ENV.URL, `{"id": ${row.id}, "name": "${row.name}"}`, { headers: { 'Content-Type': 'application/json' } });
	check(answer, {
		'status is 200': (r) => r.status === 200,
		'body has ok': (r) => r.body.includes('ok'),
	});
}

export function handleSummary(data) {
	return { stdout: JSON.stringify({ requests: data.metrics.http_reqs.values, duration_ms: data.metrics.http_req_duration.values }) };
}
