/* Texts of servers and of workers, as they are shown. What steers, turns or hides text (controls, directions, spaces without width) is shown
   by its number: ⟨U+202E⟩. */
const steers = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const named = (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

// visible is a text that is part of a line.
export function visible(text) {
  return String(text ?? "").replace(steers, named);
}

// visibleLines is a text that may have lines and tabs.
export function visibleLines(text) {
  return String(text ?? "").replaceAll("\r\n", "\n").replace(steers, (c) => (c === "\n" || c === "\t" ? c : named(c)));
}
