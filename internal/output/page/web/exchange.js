import { element } from "./dom.js";
import { count, duration } from "./format.js";
import { visible, visibleLines } from "./visible.js";

// exchange is all that was kept of one request: its times, its connection, what checks said, what was sent and what came.
export function exchange(s, traceURL) {
  const box = element("div", "exchange");
  box.append(facts(s, traceURL));
  if (s.checks?.length) box.append(element("h4", "", "Checks"), checked(s.checks));
  if (!s.request) {
    box.append(element("p", "hint", "Only its times were kept."));
    return box;
  }
  box.append(element("h4", "", "Request"), ...message(s.request), element("h4", "", "Response"));
  box.append(...(s.response ? message(s.response) : [element("p", "hint", "Nothing was kept of it, or nothing came.")]));
  return box;
}

// facts are what a request was, and how long each part of it took.
function facts(s, traceURL) {
  const list = element("dl", "spec");
  const add = (name, ...what) => {
    const line = element("div");
    const told = element("dd");
    told.append(...what);
    line.append(element("dt", "", name), told);
    list.append(line);
  };
  if (s.error) add("error", visible(s.error));
  add("due", visible(s.due));
  add("lag", duration(s.lag_ns), ", from due to sent");
  add("first byte", ...(s.first_byte_ns ? [duration(s.first_byte_ns), " after it was sent"] : ["none came"]));
  add("rest", duration(s.service_time_ns - (s.first_byte_ns ?? 0)), s.first_byte_ns ? ", until all was there" : ", until it was given up");
  add("latency", duration(s.latency_ns), ", from due to the end");
  add("connection", connection(s.connection ?? {}));
  add("bytes", `${count(s.bytes_out)} out, ${count(s.bytes_in)} in`);
  if (s.flow) add("flow", visible(s.flow));
  if (s.trace_id) add("trace", trace(s.trace_id, traceURL), s.traced ? "" : ", which the endpoint was not asked to record");
  return list;
}

function connection({ number, reused, age_ns: age, remote, connect_ns: connect, tls_ns: tls }) {
  if (!number) return visible(remote) || "none";
  return [`number ${count(number)} of its worker`, reused ? "reused" : "new", connect && `connected in ${duration(connect)}`, tls && `TLS in ${duration(tls)}`, age && `open for ${duration(age)}`, visible(remote)].filter(Boolean).join(", ");
}

// trace is the id of a trace, as a link if the run says where traces are.
function trace(id, template) {
  const address = traceAddress(template, id);
  if (!address) return element("code", "", visible(id));
  const a = element("a", "", visible(id));
  a.href = address;
  a.target = "_blank";
  a.rel = "noopener noreferrer";
  return a;
}

// traceAddress is where the trace with an id is; "" = it is not known, or not on the web.
function traceAddress(template, id) {
  if (!/^https?:\/\//i.test(template ?? "")) return "";
  try {
    return new URL(template.replaceAll("${trace_id}", () => encodeURIComponent(id))).href;
  } catch {
    return "";
  }
}

function checked(all) {
  const list = element("ul", "lines");
  for (const c of all) {
    const line = element("li", c.passed ? "passed" : "failed");
    line.append(element("span", "pill", c.passed ? "✓ passed" : "✕ failed"), " ", element("code", "", visible(c.check)));
    if (c.got) line.append(c.passed ? ": " : ", but got: ", element("code", "", visible(c.got)));
    list.append(line);
  }
  return list;
}

// message is a request or an answer: its head and its body as texts, and what is missing in them.
function message(m) {
  const head = [visible(m.start), ...(m.headers ?? []).map((h) => `${visible(h.name)}: ${visible(h.value)}`)].filter(Boolean);
  const parts = [];
  if (head.length) parts.push(element("pre", "head", head.join("\n")));
  if (m.body) parts.push(element("pre", "body", m.hex ? hexLines(m.body) : visibleLines(m.body)));
  const notes = [
    m.cut ? `Cut: its body has ${count(m.length)} bytes, and this is the beginning of it.` : m.length ? `Its body has ${count(m.length)} bytes.` : "It has no body.",
    m.hex && m.body ? "The body is no text: these are its bytes." : "", m.redacted ? "Secrets in it are redacted." : "",
  ].filter(Boolean);
  parts.push(element("p", "hint", notes.join(" ")));
  for (const p of parts.filter((e) => e.localName === "pre")) {
    p.tabIndex = 0; // it may be larger than its place: then the keyboard scrolls it
    p.setAttribute("role", "region");
    p.setAttribute("aria-label", p.className);
  }
  return parts;
}

// hexLines writes 16 bytes in a line, after the number of the first.
function hexLines(digits) {
  const lines = visible(digits).match(/.{1,32}/gu) ?? [];
  return lines.map((line, i) => `${(16 * i).toString(16).padStart(6, "0")}  ${line.match(/.{1,2}/gu).join(" ")}`).join("\n");
}
