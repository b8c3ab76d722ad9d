// VUS virtual users, each with one stream of gRPC in one long iteration. Each sends its next message when the answer to
// the last one has come.
import { Client, Stream } from 'k6/net/grpc';
import { Counter } from 'k6/metrics';

const end = Number(__ENV.SECONDS) * 1000;
const requests = new Counter('requests');
const client = new Client();
client.load([], __ENV.PROTO);

export const options = {
	summaryTrendStats: ['p(50)'],
	scenarios: { all: { executor: 'per-vu-iterations', vus: Number(__ENV.VUS), iterations: 1, maxDuration: `${__ENV.SECONDS * 3}s` } },
};

export default function () {
	client.connect(__ENV.ADDRESS, { plaintext: true });
	const stream = new Stream(client, __ENV.METHOD);
	const until = Date.now() + end;
	let sent = 0;
	const send = () => {
		stream.write({ name: 'ann' });
		sent++;
	};
	stream.on('data', () => {
		if (Date.now() < until) {
			send();
			return;
		}
		requests.add(sent);
		stream.end();
	});
	stream.on('end', () => client.close());
	send();
}

export function handleSummary(data) {
	return { stdout: JSON.stringify({ requests: data.metrics.requests.values, duration_ms: {} }) };
}
