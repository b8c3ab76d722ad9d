import { element } from "./dom.js";
import { button, fresh } from "./parts.js";

/* confirm asks before something is done. act(again) does it and returns nothing, or why it was refused; then the dialog says so and, if
   anyway is given, offers that: act is called with true. With a field it asks for a text too: act(again, text). The browser keeps the focus
   inside, and Escape closes it. */
export function confirm({ title, texts, field, yes, anyway, act }) {
  const box = element("dialog", "ask");
  const h = element("h2", "", title);
  h.id = fresh();
  box.setAttribute("aria-labelledby", h.id);
  const refused = element("p", "refused");
  refused.setAttribute("role", "alert");
  const row = element("div", "buttons");
  const no = button("Cancel", "plain", () => box.close());
  let again = false;
  const go = button(yes, "danger", async () => {
    go.disabled = true;
    const why = await act(again, field?.input.value.trim());
    go.disabled = false;
    if (!why) return box.close();
    refused.textContent = why;
    if (anyway) go.textContent = anyway;
    again = Boolean(anyway);
    (field?.input ?? go).focus();
  });
  row.append(no, go);
  box.append(h, ...texts.map((text) => element("p", "", text)), ...(field ? [field.box] : []), refused, row);
  field?.input.addEventListener("keydown", (e) => {
    if (e.key !== "Enter") return;
    e.preventDefault(); // else it also presses what has the focus when the dialog is closed
    go.click();
  });
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  (field?.input ?? no).focus();
  return box;
}
