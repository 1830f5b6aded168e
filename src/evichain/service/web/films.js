// The films one has rated and a few to begin with, each a row with stars.

import { ask } from "./api.js";
import { given } from "./stars.js";
import { $, make, mark, named, nameOf } from "./words.js";

const OFFERED = 6;
const FETCHED = 60;

export class Films {
  #popular = [];
  #pending = null;
  #rows = new Map();

  constructor(state, scale) {
    this.state = state;
    this.scale = scale;
    state.addEventListener("change", () => this.draw());
    this.draw();
  }

  async offer() {
    const { items } = await ask(`v1/items?${new URLSearchParams({ n: FETCHED })}`);
    this.#popular = items.map(({ id, title }) => ({ item: id, title }));
    this.draw();
  }

  /** A film found by search: put where it can be rated, with the stars in focus. */
  add(film) {
    if (!this.state.ratings.has(film.item)) this.#pending = film;
    this.draw();
    const stars = this.#rows.get(film.item);
    (stars.querySelector("input:checked") ?? stars.querySelector("input")).focus();
    stars.scrollIntoView({ block: "nearest" });
  }

  draw() {
    const { ratings } = this.state;
    if (ratings.has(this.#pending?.item)) this.#pending = null;
    const mine = [...ratings].map(([item, { title }]) => ({ item, title }));
    const upper = this.#pending ? [this.#pending, ...mine] : mine;
    const offered = this.#popular.filter(
      ({ item }) => !ratings.has(item) && item !== this.#pending?.item,
    );
    // What is not shown cannot take the focus along.
    $("mine").hidden = !upper.length;
    $("offers").hidden = !offered.length;
    place($("rated"), upper.map((film) => this.#row(film)));
    place($("popular"), offered.slice(0, OFFERED).map((film) => this.#row(film)));
    $("count").textContent = ratings.size || "";
    for (const item of this.#rows.keys()) {
      if (!this.#rows.get(item).isConnected) this.#rows.delete(item);
    }
  }

  /** The row of a film. It is made once, so that the focus stays where it is while one rates. */
  #row({ item, title }) {
    const row = this.#rows.get(item) ?? this.#made(item, title);
    this.#rows.set(item, row);
    const rated = this.state.ratings.has(item);
    row.querySelector(".giving").give(this.state.ratings.get(item)?.rating ?? null);
    const off = this.state.off.has(item);
    row.classList.toggle("off", off);
    row.querySelector(".remove").hidden = !rated && this.#pending?.item !== item;
    row.querySelector(".aside").textContent = off ? "switched off" : "";
    return row;
  }

  #made(item, title) {
    const name = nameOf(title);
    const remove = make("button", { type: "button", class: "icon-button remove" }, cross());
    remove.setAttribute("aria-label", `Remove the rating of ${name}`);
    const removed = () => {
      const row = this.#rows.get(item);
      const next = row.nextElementSibling ?? row.previousElementSibling;
      if (this.#pending?.item === item) this.#pending = null;
      this.#rows.delete(item);
      this.state.unrate(item);
      (next?.querySelector("input:checked") ?? $("search")).focus({ preventScroll: true });
    };
    remove.addEventListener("click", removed);
    const stars = given(this.scale, {
      label: `Your rating of ${name}`,
      choose: (rating) => this.state.rate(item, title, rating),
      remove: removed,
    });
    const label = make("p", { class: "name" }, ...named(title), " ", make("small", { class: "aside" }));
    return make("li", {}, label, stars, remove);
  }
}

/** Puts rows into a list, moving only those that are elsewhere: what moves loses the focus. */
function place(list, rows) {
  const focused = document.activeElement;
  const wanted = new Set(rows);
  for (const row of [...list.children]) if (!wanted.has(row)) row.remove();
  rows.forEach((row, k) => {
    if (list.children[k] !== row) list.insertBefore(row, list.children[k] ?? null);
  });
  if (focused?.isConnected) focused.focus({ preventScroll: true });
}

function cross() {
  const path = mark("path", { d: "M4 4l8 8M12 4l-8 8" });
  return mark("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, path);
}
