import { command } from "./api.js";
import { confirm } from "./dialog.js";
import { element, say } from "./dom.js";
import { rate } from "./format.js";
import { requestsOf } from "./frames.js";
import { button, field, fresh, section } from "./parts.js";

/* controls are the hand on a run. Without the right to give commands all of them are disabled, and say why. tell(text) speaks to those who
   do not see the page. */
export function controls(run, tell) {
  const box = section("Control", "controls");
  const set = element("fieldset");
  set.disabled = true; // the first frame says what is allowed
  const why = element("p", "why");
  why.id = fresh();
  set.setAttribute("aria-describedby", why.id);
  const said = element("p", "said");
  said.setAttribute("role", "status");
  const now = { frame: null, wanted: null };
  let line = Promise.resolve(); // commands go one after the other, in their order
  const give = (name, body, done) => (line = line.then(() => send(run, name, body, done, said, tell)));
  const form = rateForm(now, give);
  const flow = flowButtons(run, give);
  set.append(element("legend", "unseen", "Commands"), form.box, form.steps, flow.box);
  box.append(why, set, said);
  return {
    box,
    show: (frame) => {
      now.frame = frame;
      const reason = forbidden(frame);
      set.disabled = Boolean(reason);
      say(why, reason);
      why.hidden = !reason;
      form.show(frame);
      flow.show(frame);
    },
  };
}

// forbidden says why no command can be given; "" = they can.
function forbidden(frame) {
  if (frame.archived) return "This is an archive. It cannot be changed.";
  if (!frame.control) return "This page is read-only. To give commands, start loadctl ui with --control.";
  return ["stopped", "ended"].includes(frame.phase) ? "The run is over." : "";
}

// send gives a command. It returns why that was refused, "" if it was not.
async function send(run, name, body, done, said, tell) {
  said.className = "said";
  try {
    const change = await command(run, name, body);
    say(said, change.changed === false ? "Nothing to change: it was so already." : done);
    return "";
  } catch (e) {
    said.className = "said refused";
    say(said, e.message);
    return e.message;
  } finally {
    tell(said.textContent);
  }
}

// rateForm sets the rate: a typed one, or 10 % more or less than the newest one.
function rateForm(now, give) {
  const box = element("form", "rate");
  const to = field("Rate of the whole fleet", "such as 500 or 2k", "rate");
  const over = field("over (empty = at once)", "such as 30s", "over");
  const go = element("button", "strong", "Set the rate");
  go.type = "submit";
  box.append(to.box, over.box, go);
  const change = async (text, time) => {
    now.wanted = { rate: Number(text), at: Date.parse(now.frame.at) }; // at once: the next press may come before the answer
    const why = await give("rate", time ? { rate: text, over: time } : { rate: text }, `The rate is set to ${text} requests/s${time ? `, over ${time}` : ""}.`);
    if (why) now.wanted = null;
    return why;
  };
  box.addEventListener("submit", async (e) => {
    e.preventDefault();
    if (!to.input.value.trim()) return to.input.focus();
    if (!(await change(to.input.value.trim(), over.input.value.trim()))) to.input.value = "";
  });
  const by = (factor) => () => change(String(Number((factor * latest(now)).toPrecision(6))), "");
  const steps = element("div", "buttons");
  const [less, more] = [button("−10 %", "plain", by(0.9)), button("+10 %", "plain", by(1.1))];
  less.setAttribute("aria-label", "10 % less");
  more.setAttribute("aria-label", "10 % more");
  steps.append(less, more);
  const all = [to.input, over.input, go, less, more];
  return {
    box,
    steps,
    show: (frame) => {
      to.input.placeholder = frame.concurrency ? "loadctl set-rate RUN c=N changes it" : frame.report.closed_loop ? "a closed loop has no rate" : `now ${rate(requestsOf(frame, frame.rate || frame.rate_then))} requests/s`;
      all.forEach((e) => (e.disabled = Boolean(frame.report.closed_loop)));
    },
  };
}

// latest is the rate last asked for, in requests as commands take it: a command may be too new for the frame.
function latest({ frame, wanted }) {
  if (wanted && wanted.rate && Date.parse(frame.at) - wanted.at < 2000) return wanted.rate;
  return requestsOf(frame, frame.rate || frame.rate_then);
}

// flowButtons begin, hold and end a run.
function flowButtons(run, give) {
  const box = element("div", "buttons");
  const start = button("Start", "strong", () => give("start", {}, "The run begins."));
  const hold = button("Pause", "plain", () => (hold.textContent === "Pause" ? give("pause", {}, "The run is paused.") : give("resume", {}, "The run goes on.")));
  const stop = button("Stop…", "danger", () => confirm({
    title: `Stop ${run}?`,
    texts: ["All workers stop sending, and the run ends. It cannot be started again.", "Requests that were sent are still counted."],
    yes: "Stop the run",
    act: () => give("stop", {}, "The run is stopped."),
  }));
  box.append(start, hold, stop);
  return {
    box,
    show: ({ phase }) => {
      start.hidden = phase !== "waiting";
      hold.disabled = phase === "waiting";
      say(hold, phase === "paused" ? "Resume" : "Pause");
    },
  };
}
