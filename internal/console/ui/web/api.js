// The JSON API of the page's server. A Refusal is an answer that is an error.
export class Refusal extends Error {
  constructor(status, text) {
    super(text);
    this.status = status; // 0 = there was no answer
  }
}

export const sessionOver = "This browser is not logged in. Open the newest address that loadctl ui has printed: each works once.";

// read returns the JSON at a path.
export function read(path) {
  return ask(path, { cache: "no-store" });
}

// command sends a command to a run.
export function command(run, name, body = {}) {
  return post(`${runPath(run)}/${name}`, body);
}

// budgetsPath is where the budgets are.
export const budgetsPath = "/api/v1/budgets";

// changeBudget changes the budget of an endpoint: rate, freeze or thaw. It returns when all runs obey, or says for whom it waits.
export function changeBudget(endpoint, name, body = {}) {
  return post(`${budgetsPath}/${encodeURIComponent(endpoint)}/${name}`, body);
}

// runPath is where a run is.
export function runPath(run) {
  return "/api/v1/runs/" + encodeURIComponent(run);
}

// archivePath is where an archive is.
export function archivePath(name) {
  return "/api/v1/archives/" + encodeURIComponent(name);
}

// samplesPath is where samples of a run or an archive are, which is at path: those that a query wants.
export function samplesPath(path, { class: kind, step, slowest, least }) {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries({ class: kind, step, slowest, least_ns: least })) if (value) q.set(name, value);
  return `${path}/samples?${q}`;
}

function post(path, body) {
  return ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, { credentials: "same-origin", ...options });
  } catch {
    throw new Refusal(0, "loadctl ui does not answer. Is it still running?");
  }
  const said = await answer.json().catch(() => ({}));
  if (answer.ok) return said;
  throw new Refusal(answer.status, answer.status === 401 ? sessionOver : said.error ?? `loadctl ui answered with status ${answer.status}`);
}
