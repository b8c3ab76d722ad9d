// How numbers are written, as in the text report.

const space = "\u00a0";

function threeDigits(v) {
  return v < 10 ? v.toFixed(2) : v < 100 ? v.toFixed(1) : v.toFixed(0);
}

// duration writes nanoseconds with three significant digits.
export function duration(ns) {
  if (ns >= 999_500_000) return threeDigits(ns / 1e9) + space + "s";
  if (ns >= 999_500) return threeDigits(ns / 1e6) + space + "ms";
  return threeDigits(ns / 1e3) + space + "µs";
}

// tick writes a round number of nanoseconds, for an axis.
export function tick(ns) {
  const [v, unit] = ns >= 1e9 ? [ns / 1e9, "s"] : ns >= 1e6 ? [ns / 1e6, "ms"] : [ns / 1e3, "µs"];
  return Number(v.toPrecision(3)) + space + unit;
}

// number writes a number of any size and sign with four significant digits, and all digits of a whole part.
export function number(v) {
  const size = Math.abs(v);
  if (size >= 1e15) return Number(v.toPrecision(4)).toExponential();
  if (size >= 1000) return (v < 0 ? "-" : "") + count(Math.round(size));
  return String(Number(v.toPrecision(4)));
}

// count groups the digits of a whole number.
export function count(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

// rate writes requests per second: whole numbers from 100 on, tenths below, and three digits below 1.
export function rate(v) {
  if (v < 1) return String(Number(v.toPrecision(3)));
  return v < 100 ? String(Math.round(v * 10) / 10) : count(Math.round(v));
}

// clock writes seconds since the start as 1:05, or 1:00:05.
export function clock(s) {
  const two = (n) => String(n).padStart(2, "0");
  const whole = Math.floor(s);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  const rest = two(whole % 60) + (s > whole ? "." + Math.round((s - whole) * 10) : "");
  return hours ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
}

// share writes a part of 1 as per cent with two decimals, rounded down: 100 means all.
export function share(v) {
  return (Math.floor(v * 10_000 + 1e-6) / 100).toFixed(2) + space + "%";
}
