import { command } from "./api.js";
import { confirm } from "./dialog.js";
import { element, say } from "./dom.js";
import { count, duration, rate, share } from "./format.js";
import { button, cells, rows, section, table } from "./parts.js";

const columns = ["worker", "state", "#share", "#rate", "#in flight", "#lag p99", "#sent", "#late dropped", "#last seen", "limits it met", ""];

// fleetView shows each process of the workers, and removes dead ones.
export function fleetView(root, name, tell) {
  const box = section("Fleet");
  const lead = element("p", "lead");
  const none = element("p", "empty", "No worker has joined yet.");
  const t = table("counts fleet", "Workers", columns);
  const said = element("p", "said");
  said.setAttribute("role", "status");
  const hint = element("p", "hint", "Share: of the schedule now. Rate, in flight and lag: in the newest second. Lag: how late requests left.");
  box.append(lead, none, t.box, said, hint);
  root.append(box);
  const ask = (m) => confirm({
    title: `Remove ${m.id}?`,
    texts: ["Its process counts as dead, and its share goes to the others half a second later.",
      "Remove it only if the process is dead: if it is alive and cut off, it sends until its lease ends, and some requests are sent twice. If it is alive and connected, it is not removed."],
    yes: "Remove the worker",
    anyway: "Ask it to call, and wait",
    act: async (force) => {
      try {
        await command(name, `workers/${encodeURIComponent(m.id)}/remove`, { force });
        tell(`${m.id} is removed.`);
        say(said, `${m.id} is removed. Its share goes to the others.`);
      } catch (e) {
        return e.message;
      }
    },
  });
  const fill = rows(t.body, (m) => m.id + "/" + m.incarnation, (line, m) => memberRow(line, m, ask));
  return {
    show: (frame) => {
      const at = Date.parse(frame.at);
      const can = frame.control && !frame.archived && !["stopped", "ended"].includes(frame.phase);
      say(lead, summary(frame));
      fill(frame.fleet.map((m) => ({ ...m, at, can })));
      none.hidden = frame.fleet.length > 0;
      t.box.hidden = !frame.fleet.length;
    },
    end: () => {},
  };
}

function memberRow(line, member, ask) {
  const set = cells(line, ["", "state", "n", "n", "n", "n", "n", "n", "n", "limits"]);
  const last = element("td", "n");
  let newest = member;
  const remove = button("Remove…", "plain", () => ask(newest));
  remove.setAttribute("aria-label", `Remove ${member.id}`);
  last.append(remove);
  line.append(last);
  return (m) => {
    newest = m;
    const present = ["active", "silent"].includes(m.state);
    line.className = m.state;
    set([m.id, m.state, present ? share(m.share) : "–", present ? rate(m.rate) + "/s" : "–", count(m.in_flight), m.lag_p99_ns ? duration(m.lag_p99_ns) : "–",
      count(m.sent), count(m.late_dropped), ago(m), (m.verdicts ?? []).map((v) => `${v.limit}: ${v.text}`).join("; ") || "none"]);
    remove.hidden = !present;
    remove.disabled = !m.can;
    remove.title = m.can ? "" : "To remove workers, the run must go on, and loadctl ui must run with --control.";
  };
}

// ago is when a member was last heard of.
function ago({ last_seen: seen, at }) {
  if (!seen) return "never";
  const s = Math.max(0, Math.round((at - Date.parse(seen)) / 1000));
  return s < 3 ? "now" : s < 120 ? `${s} s ago` : `${count(Math.round(s / 60))} min ago`;
}

// summary counts the processes by state.
function summary({ fleet, fleet_states: states }) {
  const all = Object.entries(states ?? {}).sort().map(([state, n]) => `${count(n)} ${state}`);
  const total = Object.values(states ?? {}).reduce((n, more) => n + more, 0);
  if (!total) return "";
  const shown = total > fleet.length ? ` The table has ${count(fleet.length)} of them, those with problems first.` : "";
  return `${count(total)} ${total === 1 ? "process" : "processes"}: ${all.join(", ")}.${shown}`;
}
