// The recommendations: asked for again after every change, and moved from the old order to the new.

import { ask, Newest } from "./api.js";
import { shown } from "./stars.js";
import { $, counted, fixed, listed, make, named, nameOf, stars } from "./words.js";

const MOST = 10;
const REST = 60;
/** An interval that holds eight in ten ratings reaches so many deviations to either side. */
const REACH = 1.2816;

export class List {
  #newest = new Newest();
  #timer = 0;
  #rows = new Map();
  #order = [];
  /** The order with everything switched on, to compare with while something is off. */
  #whole = [];

  constructor(state, scale) {
    this.state = state;
    this.scale = scale;
    $("all-on").addEventListener("click", () => state.allOn());
    state.addEventListener("change", ({ detail }) => {
      if (detail === "open") this.#mark();
      else if (detail !== "user") this.ask();
    });
    this.ask();
  }

  /** Several changes at once, as by a key that is held, make one request. */
  ask() {
    clearTimeout(this.#timer);
    $("suggestions").setAttribute("aria-busy", "true");
    this.#timer = setTimeout(() => {
      const { asked, off } = this.state;
      const body = { ratings: asked, n: MOST, reasons: true, without: [...off] };
      const request = (signal) => ask("v1/recommendations", { method: "POST", body, signal });
      this.#newest.run(request, ({ recommendations }) => this.#show(recommendations));
    }, REST);
  }

  #show(suggestions) {
    const order = suggestions.map(({ item }) => item);
    const before = this.state.off.size ? this.#whole : this.#order;
    const rows = suggestions.map((suggestion, k) => this.#row(suggestion, k, before));
    const places = tops($("suggestions"));
    this.#tell(suggestions, before);
    glide($("suggestions"), rows, places);
    this.#rows = new Map(order.map((item, k) => [item, rows[k]]));
    this.#order = order;
    if (!this.state.off.size) this.#whole = order;
    this.#mark();
    $("suggestions").setAttribute("aria-busy", "false");
    $("band-says").hidden = !suggestions.some(({ std }) => std != null);
  }

  #row(suggestion, rank, before) {
    const row = this.#rows.get(suggestion.item) ?? this.#made(suggestion);
    const { estimate, std, reason } = suggestion;
    const was = before.indexOf(suggestion.item);
    row.querySelector(".figure").replaceChildren(shown(this.scale, estimate), fixed(estimate));
    row.querySelector(".band").replaceChildren(...this.#band(estimate, std));
    row.querySelector(".reason").textContent = this.#because(reason);
    const change = row.querySelector(".moved");
    const up = was - rank;
    change.className = `moved ${!before.length || !up ? "" : was < 0 ? "new" : up > 0 ? "up" : "down"}`;
    change.textContent = !before.length || !up ? "" : was < 0 ? "new" : String(Math.abs(up));
    return row;
  }

  #made({ item, title }) {
    const change = make("span", { class: "moved", "aria-hidden": "true" });
    const button = make(
      "button",
      { type: "button", "aria-controls": "why", "data-item": item },
      make("span", { class: "title" }, ...named(title), " ", change),
      make("span", { class: "figure" }),
      make("span", { class: "band", "aria-hidden": "true" }),
      make("span", { class: "reason" }),
    );
    button.addEventListener("click", () => this.state.look({ item, title }));
    return make("li", {}, button);
  }

  #band(estimate, std) {
    if (std == null) return [];
    const from = this.scale.place(estimate - REACH * std);
    const to = this.scale.place(estimate + REACH * std);
    const range = make("i", { class: "range" });
    range.style.left = `${100 * from}%`;
    range.style.width = `${100 * (to - from)}%`;
    const dot = make("i", { class: "dot" });
    dot.style.left = `${100 * this.scale.place(estimate)}%`;
    return [range, dot];
  }

  #because(reason) {
    if (reason) return `because you gave ${nameOf(reason.title)} ${stars(reason.rating)}`;
    return this.state.ratings.size ? "well liked, whatever you rated" : "";
  }

  /** Says in words what has changed. */
  #tell(suggestions, before) {
    const { ratings, off } = this.state;
    $("lead").textContent = ratings.size
      ? `From ${counted(ratings.size, "rating")} of yours. Choose a film to see its evidence.`
      : "You have rated nothing yet, so this is what people like in general. Rate a film and watch.";
    const fresh = suggestions.filter(({ item }) => before.length && !before.includes(item));
    const names = listed(fresh.map(({ title }) => nameOf(title)));
    const what = fresh.length
      ? `${fresh.length} of ${suggestions.length} are new: ${names}.`
      : "the same films, perhaps in another order.";
    const titles = [...off].map((item) => nameOf(ratings.get(item)?.title ?? item));
    $("lead").hidden = off.size > 0;
    $("without").hidden = !off.size;
    $("list-news").textContent = off.size ? `In the list: ${what}` : "";
    $("without-what").textContent = off.size ? `Without ${listed(titles)}: ${what}` : "";
    $("peek-first").textContent = suggestions.length ? nameOf(suggestions[0].title) : "";
    if (before.length && suggestions.length) {
      $("news").textContent = `First is ${nameOf(suggestions[0].title)}; ${what}`;
    }
  }

  #mark() {
    for (const [item, row] of this.#rows) {
      const open = this.state.open?.item === item;
      row.classList.toggle("open", open);
      row.firstChild.setAttribute("aria-expanded", String(open));
    }
  }
}

const tops = (list) => new Map([...list.children].map((row) => [row, row.getBoundingClientRect().top]));

/** Puts rows into a list and lets each glide from where it was; new ones come in from aside. */
function glide(list, rows, before) {
  const focused = document.activeElement;
  list.replaceChildren(...rows);
  if (rows.some((row) => row.contains(focused))) focused.focus({ preventScroll: true });
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  rows.forEach((row, k) => {
    const by = before.has(row) ? before.get(row) - row.getBoundingClientRect().top : 0;
    const timing = { duration: 420, easing: "cubic-bezier(.2,.8,.2,1)", fill: "backwards" };
    if (by) row.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], timing);
    else if (!before.has(row)) {
      const start = { opacity: 0, transform: "translateX(1rem)" };
      row.animate([start, { opacity: 1, transform: "none" }], { ...timing, delay: 30 * k });
    }
  });
}
