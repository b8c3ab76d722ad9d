import { changeBudget } from "./api.js";
import { confirm } from "./dialog.js";
import { element, say } from "./dom.js";
import { button, field, fresh, section } from "./parts.js";

const longest = 200; // characters of what people say

/* budgetHand is the hand on budgets: a form that sets one, and what the buttons of a table do. tell(text) speaks to those who do not see the
   page. changed() is called when something may have changed. */
export function budgetHand(tell, changed) {
  const box = section("Set a budget", "controls");
  const why = element("p", "why");
  why.id = fresh();
  const set = element("fieldset");
  set.disabled = true; // the first answer says what is allowed
  set.setAttribute("aria-describedby", why.id);
  const said = element("p", "said");
  said.setAttribute("role", "status");
  const give = giver(said, tell, changed);
  const hand = { freeze: (endpoint) => freeze(endpoint, give), thaw: (endpoint) => thaw(endpoint, give) };
  const form = budgetForm(give, hand);
  set.append(element("legend", "unseen", "Budget"), form.box);
  box.append(why, set, said);
  return {
    ...hand,
    box,
    change: form.fill,
    show: ({ control }) => {
      set.disabled = !control;
      why.hidden = control;
      say(why, control ? "" : "This page is read-only. To change budgets, start loadctl ui with --control.");
    },
  };
}

/* giver returns what gives an order, and says what became of it. An order may wait until all runs obey. Another one does not wait for it.
   It returns why the order was refused, undefined if it was not. */
function giver(said, tell, changed) {
  const show = (kind, text) => {
    said.className = kind;
    say(said, text);
    tell(text);
  };
  return async (endpoint, order, body, done) => {
    show("said", `${endpoint}: waiting until all runs obey …`);
    try {
      const left = await changeBudget(endpoint, order, body);
      if (left.pending) show("said refused", `${endpoint}: the change is made, but not all runs obey it yet: ${left.pending}`);
      else show("said", left.change.changed ? done : `${endpoint}: nothing to change, it was so already.`);
    } catch (e) {
      show("said refused", e.message.replace(/; give a higher rate.*$/, "."));
      return e;
    } finally {
      changed();
    }
  };
}

// budgetForm sets the rate of a budget, or freezes an endpoint that is in no table yet.
function budgetForm(give, hand) {
  const box = element("form", "rate");
  const to = field("Endpoint", "HOST, HOST:PORT, *.DOMAIN or *", "endpoint", 300);
  const most = field("Requests per second, of all runs", "such as 500 or 2k", "rate");
  const note = field("Note (empty = as it was)", "such as agreed with payments", "note", longest);
  const go = element("button", "strong", "Set the budget");
  go.type = "submit";
  const stop = button("Freeze…", "danger", () => (to.input.value.trim() ? hand.freeze(to.input.value.trim()) : to.input.focus()));
  const buttons = element("div", "buttons");
  buttons.append(go, stop);
  box.append(to.box, most.box, note.box, buttons);
  box.addEventListener("submit", async (e) => {
    e.preventDefault();
    const empty = [to, most].find((f) => !f.input.value.trim());
    if (empty) return empty.input.focus();
    const [endpoint, rate, text] = [to, most, note].map((f) => f.input.value.trim());
    await setBudget(endpoint, text ? { rate, note: text } : { rate }, give);
  });
  return {
    box,
    fill: (e) => {
      to.input.value = e.host;
      most.input.value = e.own?.rate ? String(e.own.rate) : "";
      note.input.value = "";
      most.input.focus();
      most.input.select();
    },
  };
}

// setBudget sets a budget. If runs hold more than that, it offers to bring them down.
async function setBudget(endpoint, body, give) {
  const done = `The budget of ${endpoint} is ${body.rate} per second, and all runs obey it.`;
  const refused = await give(endpoint, "rate", body, done);
  if (!refused?.message.includes('"cut":true')) return;
  confirm({
    title: "Bring runs down?",
    texts: [refused.message.replace(/; give a higher rate.*$/, "."), "They can come down to the new budget at once, each by the same factor. Their plans go on at that part of their rates."],
    yes: "Set it, and bring them down",
    act: () => void give(endpoint, "rate", { ...body, cut: true }, done),
  });
}

// freeze asks why, and lets no run send at an endpoint.
function freeze(endpoint, give) {
  confirm({
    title: `Freeze ${endpoint}?`,
    texts: ["Runs that send there are paused at once, and no other may begin. They keep what they hold, until somebody thaws it."],
    field: field("Why? Everybody is shown this.", "such as incident 4711", "why", longest),
    yes: "Freeze it",
    act: (again, why) => {
      if (!why) return "Say why nobody may send there.";
      give(endpoint, "freeze", { why }, `${endpoint} is frozen. No run sends there.`);
    },
  });
}

// thaw ends a freeze.
function thaw(endpoint, give) {
  confirm({
    title: `Thaw ${endpoint}?`,
    texts: ["Runs that the freeze has paused go on at once. Those that somebody has paused stay paused."],
    yes: "Thaw it",
    act: () => void give(endpoint, "thaw", {}, `${endpoint} is thawed.`),
  });
}
