import { element, say } from "./dom.js";
import { clock, count, duration, rate, share } from "./format.js";
import { requestsOf } from "./frames.js";

// tiles are the key figures. Each number that the JSON report has names its path there.
export function tiles() {
  const box = element("section", "tiles");
  box.setAttribute("aria-label", "Key figures");
  const all = figures.map(([kind, label]) => tile(box, kind, label));
  return { box, show: (frame) => figures.forEach(([, , of], i) => all[i](of(frame, frame.report))) };
}

// tile adds a figure; the function that it returns sets it: text, more, value and path in the JSON report if it is there, and what is wrong. Without a figure it hides the tile.
function tile(box, kind, label) {
  const e = element("div", "tile " + kind);
  const main = element("data");
  const more = element("p", "more");
  const line = element("p", "main");
  line.append(main);
  const alarm = element("p", "alarm bad");
  e.append(element("p", "label", label), line, more, alarm);
  box.append(e);
  return (figure) => {
    e.hidden = !figure;
    if (!figure) return;
    const [text, told, value, path, wrong] = figure;
    say(main, text);
    say(more, told);
    say(alarm, wrong ?? "");
    alarm.hidden = !wrong;
    main.value = value ?? text;
    if (path) main.dataset.path = path;
  };
}

const whole = (n, more, path) => [count(n), more, n, path];
const time = (r, name, one) => (r.latency_ns.max ? [bound(r, name) + duration(r.latency_ns[name]), `1 in ${count(one)} is slower`, r.latency_ns[name], "latency_ns." + name]
  : ["–", "no request has ended", 0, "latency_ns." + name]);

// bound marks a percentile of which only a lower bound is known.
function bound(r, name) {
  const above = r.percentiles_are_lower_bounds_above;
  return above !== undefined && { p50: 0.5, p99: 0.99, p999: 0.999 }[name] > above ? "≥\u00a0" : "";
}

// loop is what a closed loop asks for: numbers of requests in flight, if it has any. Of many it shows the first ones and the last.
function loop(numbers) {
  if (!numbers?.length) return ["max", "as fast as it goes"];
  const shown = numbers.length > 4 ? [...numbers.slice(0, 3), undefined, numbers.at(-1)] : numbers;
  return [shown.map((n) => (n ? "c=" + count(n) : "…")).join(", "), "as many requests in flight"];
}

const figures = [
  ["asked", "asked", (f, r) => (r.closed_loop ? loop(r.concurrency) : whole(r.asked, f.steps_per_flow > 1 ? "flows, by the schedule" : "by the schedule", "asked"))],
  ["sent", "sent", (f, r) => whole(r.sent, `${rate(r.rate)}${f.steps_per_flow > 1 ? " flows" : ""}/s on average`, "sent")],
  ["ok", "ok", (f, r) => [...whole(r.audit.completed, r.audit.completed + r.audit.failed ? `${rate(r.throughput)}/s · ${share(r.success)}` : "no request has ended", "audit.completed"), notSent(r)]],
  ["failed", "failed", (f, r) => whole(r.audit.failed, mostFrequent(r.errors), "audit.failed")],
  ["", "in flight", (f) => [count(f.in_flight), "sent, not ended"]],
  ["", "workers", (f) => [count(f.members), absent(f)]],
  ["", "rate asked for", (f, r) => (r.closed_loop ? loop(f.concurrency ? [f.concurrency] : r.concurrency?.slice(-1)) : [rate(requestsOf(f, f.rate)) + "/s", next(f)])],
  ["", "time", (f, r) => [clock(Math.floor(r.duration_s)), left(f)]],
  ["p50", "latency p50", (f, r) => time(r, "p50", 2)],
  ["p99", "latency p99", (f, r) => time(r, "p99", 100)],
  ["p999", "latency p99.9", (f, r) => time(r, "p999", 1000)],
  ["", "first byte p99", (f, r) => r.first_bytes && [duration(r.first_byte_ns.p99), `from sending; p50 ${duration(r.first_byte_ns.p50)}`, r.first_byte_ns.p99, "first_byte_ns.p99"]],
  ["", "first event p99", (f, r) => r.streams && [bound(r, "p99") + duration(r.streams.first_event_ns.p99), `p50 ${duration(r.streams.first_event_ns.p50)}`, r.streams.first_event_ns.p99, "streams.first_event_ns.p99"]],
  ["", "event gap p99", (f, r) => r.streams?.event_gap_ns && [duration(r.streams.event_gap_ns.p99), `p50 ${duration(r.streams.event_gap_ns.p50)}`, r.streams.event_gap_ns.p99, "streams.event_gap_ns.p99"]],
  ["", "goodput", (f, r) => r.goodput && [rate(r.goodput.per_s) + "/s", `${share(r.goodput.share)} of answers met their goals`, r.goodput.per_s, "goodput.per_s"]],
  ["", "lag p99", (f, r) => [r.lag_ns.max ? duration(r.lag_ns.p99) : "–", "how late it was sent", r.lag_ns.p99, "lag_ns.p99"]],
];

// notSent is the share of what was asked for that was not sent, as the threshold dropped:rate measures it; "" = all was sent.
function notSent(r) {
  const a = r.audit;
  const late = (r.steps ?? []).reduce((n, s) => n + (s.followed_late ?? 0), 0);
  const n = Math.max(0, a.asked + a.overrun - a.sent - (r.running ? a.held : 0)) + late;
  if (r.closed_loop || n <= 0) return "";
  const part = n / (a.asked + (a.followed ?? 0) + late);
  if (part < 0.0001) return "less than 0.01\u00a0% not sent";
  return `${r.running || r.complete ? "" : "up to "}${share(part)} not sent`;
}

function mostFrequent(errors) {
  const [name] = Object.keys(errors).sort((a, b) => errors[b] - errors[a]);
  return name ? `${name} ${count(errors[name])}` : "none";
}

function absent(f) {
  const silent = f.fleet_states?.silent ?? 0;
  if (silent) return `${count(silent)} silent`;
  return f.phase === "waiting" && f.min_workers ? `it begins with ${count(f.min_workers)}` : "in the run";
}

function next(f) {
  if (["stopped", "ended"].includes(f.phase)) return "it is over";
  if (f.frozen) return "its endpoint is frozen";
  if (f.no_right) return "it waits for room at its endpoint";
  if (f.rate_then !== f.rate) return `requests, then ${rate(requestsOf(f, f.rate_then))}/s`;
  if (f.factor) return `requests, ${Number((f.factor * 100).toPrecision(4))} % of its plan`;
  return f.steps_per_flow > 1 ? `requests, in ${rate(f.rate)} flows/s` : "requests per second";
}

function left(f) {
  if (f.left_ns) return clock(Math.ceil(f.left_ns / 1e9)) + " left after the pause";
  if (["stopped", "ended"].includes(f.phase)) return "it is over";
  if (f.phase === "waiting") return "it has not begun";
  if (!f.ends_at) return "until it is stopped";
  return clock(Math.max(0, Math.ceil((Date.parse(f.ends_at) - Date.parse(f.at)) / 1000))) + " left";
}
