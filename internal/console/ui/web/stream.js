import { Refusal, read, runPath, sessionOver } from "./api.js";
import { merged } from "./frames.js";

const silence = 3000; // ms without a frame, from which on the page says so
const patience = 3000; // ms until the next attempt, where the browser makes none

/* follow shows a run as it goes: show(frame) gets each frame, whole. tell(text) gets what is wrong with the connection; "" = nothing.
   It returns a function that ends it. */
export function follow(run, show, tell) {
  const s = { known: null, source: null, heard: performance.now(), wrong: "", over: false, timer: 0 };
  const say = (text) => {
    if (text !== s.wrong) tell((s.wrong = text));
  };
  const end = () => {
    s.over = true;
    s.source?.close();
    clearTimeout(s.timer);
    clearInterval(s.watch);
    s.known = null;
  };
  const on = (event, f) => s.source.addEventListener(event, (e) => s.over || f(e.data ? JSON.parse(e.data) : {}));
  const open = () => {
    s.source = new EventSource(runPath(run) + "/live");
    on("frame", (frame) => {
      s.heard = performance.now();
      s.known = merged(s.known, frame);
      say("");
      show(s.known);
    });
    on("trouble", ({ error }) => {
      s.heard = performance.now();
      say("The figures are old: " + error);
    });
    on("gone", () => {
      end();
      say("This run was removed. Its figures are the last that were known.");
    });
    on("end", () => {
      end();
      say("");
    });
    s.source.addEventListener("error", () => s.source.readyState === EventSource.CLOSED && !s.over && again());
  };
  // again opens the stream once more. A browser gives up on a stream that was answered with an error, so ask which.
  const again = async () => {
    try {
      await read(runPath(run));
    } catch (e) {
      if (s.over || !(e instanceof Refusal)) return;
      if (e.status === 404) {
        end();
        return say(e.message);
      }
      say(e.status === 401 ? sessionOver : e.message);
    }
    if (!s.over) s.timer = setTimeout(open, patience);
  };
  s.watch = setInterval(() => {
    if (performance.now() - s.heard > silence && !s.wrong) say("The figures are old: nothing has come from loadctl ui for 3 seconds. The page connects again by itself.");
  }, 500);
  open();
  return end;
}
