// Stars: to be read (a rating or an estimate) and to be given (a group of radio buttons).
// The shape is a mask over a two-coloured bar, so any share of a star can be shown.

import { make, number, stars } from "./words.js";

const MOST = 10;

/** The scale of ratings: what may be given, and how much of the stars a value fills. */
export class Scale {
  constructor({ low, high, levels = [] }) {
    this.low = low;
    this.high = high;
    this.levels = regular(low, high, levels);
    // One step below the lowest rating there is no star at all.
    this.from = low - (high - low) / (this.levels.length - 1);
    const whole = Math.round(high - this.from);
    this.stars = whole >= 1 && whole <= 5 ? whole : 5;
  }

  share(value) {
    return between((value - this.from) / (this.high - this.from));
  }

  /** Where a value lies between the lowest and the highest rating. */
  place(value) {
    return between((value - this.low) / (this.high - this.low));
  }
}

/** Even steps from end to end, as fine as the ratings that were given, if these are not too many. */
function regular(low, high, levels) {
  const gaps = levels.slice(1).map((level, k) => level - levels[k]);
  const steps = gaps.length ? Math.round((high - low) / Math.min(...gaps)) : MOST;
  const count = steps < MOST ? steps : MOST - 1;
  return Array.from({ length: count + 1 }, (_, k) =>
    within(low, high, Number((low + (k * (high - low)) / count).toFixed(2))),
  );
}

/** Ratings have 32 bits, and so do the ends of the scale: to these, 0.1 is as good as 0.1000000015. */
function within(low, high, value) {
  const rounded = Math.fround(value);
  if (rounded < Math.fround(low)) return low;
  return rounded > Math.fround(high) ? high : value;
}

const same = (one, other) => other !== null && Math.fround(one) === Math.fround(other);

const between = (share) => Math.min(1, Math.max(0, share));

export function fill(element, scale, value) {
  element.style.setProperty("--share", `${100 * scale.share(value)}%`);
  element.style.setProperty("--stars", scale.stars);
}

/** Stars to be read; the number is written beside them, so they say nothing by themselves. */
export function shown(scale, value) {
  const element = make("span", { class: "stars", "aria-hidden": "true" });
  fill(element, scale, value);
  return element;
}

let groups = 0;

/** Stars to be given. `choose` is called with each value that is chosen; arrow keys, digits and
 * clicks choose, Delete calls `remove`. */
export function given(scale, { label, value = null, choose, remove }) {
  const name = `stars-${++groups}`;
  const face = make("span", { class: "stars", "aria-hidden": "true" });
  const group = make("div", { class: "giving", role: "radiogroup", "aria-label": label }, face);
  const show = (rating) => fill(face, scale, rating ?? scale.from);
  group.style.setProperty("--levels", scale.levels.length);
  group.style.setProperty("--stars", scale.stars);
  for (const level of scale.levels) {
    const radio = make("input", { type: "radio", name, value: level, "aria-label": stars(level) });
    radio.addEventListener("change", () => {
      value = level;
      show(value);
      choose(level);
    });
    const place = make("label", { title: number.format(level) }, radio);
    // A pointer that only passes by shows what a click would give.
    place.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && show(level));
    group.append(place);
  }
  group.addEventListener("pointerleave", () => show(value));
  group.addEventListener("keydown", (event) => {
    if ((event.key === "Delete" || event.key === "Backspace") && value !== null) remove?.();
    const radio = group.querySelector(`input[value="${CSS.escape(event.key)}"]`);
    if (radio) {
      radio.focus();
      radio.click();
    } else if (event.key !== "Delete" && event.key !== "Backspace") return;
    event.preventDefault();
  });
  /** Shows another value that was not chosen here. */
  group.give = (rating) => {
    value = rating;
    for (const radio of group.querySelectorAll("input")) radio.checked = same(Number(radio.value), value);
    show(value);
  };
  group.give(value);
  return group;
}
