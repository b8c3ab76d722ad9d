import { read } from "./api.js";

const every = 2000; // ms

/* poll reads a path again and again, until end() is called. show(answer) gets each answer, news(text) why there is none. now() reads at
   once: something has changed. */
export function poll(path, show, news) {
  const s = { over: false, timer: 0, turn: 0 };
  const again = async () => {
    const turn = ++s.turn;
    clearTimeout(s.timer);
    try {
      const all = await read(path);
      if (!s.over && turn === s.turn) show(all);
    } catch (e) {
      if (!s.over && turn === s.turn) news(e.message);
    }
    if (!s.over && turn === s.turn) s.timer = setTimeout(again, every);
  };
  again();
  return {
    now: again,
    end: () => {
      s.over = true;
      clearTimeout(s.timer);
    },
  };
}
