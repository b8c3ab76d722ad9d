// VUS virtual users, each with one WebSocket in one long iteration: a connection cannot be kept over iterations. Each
// sends its next message when the answer to the last one has come.
import { WebSocket } from 'k6/websockets';
import { Counter } from 'k6/metrics';

const end = Number(__ENV.SECONDS) * 1000;
const requests = new Counter('requests');

export const options = {
	summaryTrendStats: ['p(50)'],
	scenarios: { all: { executor: 'per-vu-iterations', vus: Number(__ENV.VUS), iterations: 1, maxDuration: `${__ENV.SECONDS * 3}s` } },
};

export default function () {
	const socket = new WebSocket(__ENV.URL);
	let sent = 0;
	let until = 0;
	const send = () => {
		socket.send('hello, hello');
		sent++;
	};
	socket.onopen = () => {
		until = Date.now() + end;
		send();
	};
	socket.onmessage = () => {
		if (Date.now() < until) {
			send();
			return;
		}
		requests.add(sent);
		socket.close();
	};
}

export function handleSummary(data) {
	return { stdout: JSON.stringify({ requests: data.metrics.requests.values, duration_ms: {} }) };
}
