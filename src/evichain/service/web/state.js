// What the page knows of its visitor: ratings, what is switched off, which film is looked into.
// It outlives a reload in the browser's own storage and goes nowhere else from here.

const PLACE = "evichain";

export class State extends EventTarget {
  /** item -> {title, rating}, the latest first */
  ratings = new Map();
  /** items whose ratings do not count for now */
  off = new Set();
  /** {item, title} of the film whose evidence is shown */
  open = null;
  depth = 1;
  /** the id under which ratings are kept on the server, if they are */
  user = null;

  constructor() {
    super();
    const saved = read();
    this.user = saved.user ?? null;
    for (const [item, title, rating] of saved.ratings ?? []) this.ratings.set(item, { title, rating });
  }

  rate(item, title, rating) {
    const known = this.ratings.has(item);
    const others = [...this.ratings].filter(([other]) => other !== item);
    if (known) this.ratings.set(item, { title, rating });
    else this.ratings = new Map([[item, { title, rating }], ...others]);
    this.off.delete(item);
    if (this.open?.item === item) this.open = null;
    this.#changed("ratings");
  }

  unrate(item) {
    this.ratings.delete(item);
    this.off.delete(item);
    this.#changed("ratings");
  }

  /** Takes over ratings from elsewhere, [{item, title, rating}]. */
  replace(ratings) {
    this.ratings = new Map(ratings.map(({ item, title, rating }) => [item, { title, rating }]));
    this.off.clear();
    this.#changed("ratings");
  }

  switch(item, on) {
    if (on) this.off.delete(item);
    else this.off.add(item);
    this.#changed("off");
  }

  allOn() {
    this.off.clear();
    this.#changed("off");
  }

  look(film) {
    this.open = film;
    this.#changed("open");
  }

  deepen(depth) {
    this.depth = depth;
    this.#changed("open");
  }

  keepAs(user) {
    this.user = user;
    this.#changed("user");
  }

  /** The ratings as the server wants them. */
  get asked() {
    return [...this.ratings].map(([item, { rating }]) => ({ item, rating }));
  }

  #changed(what) {
    const ratings = [...this.ratings].map(([item, { title, rating }]) => [item, title, rating]);
    write({ user: this.user, ratings });
    this.dispatchEvent(new CustomEvent("change", { detail: what }));
  }
}

// Storage may be forbidden or full: then the page forgets, and works.
function read() {
  try {
    return JSON.parse(localStorage.getItem(PLACE)) ?? {};
  } catch {
    return {};
  }
}

function write(what) {
  try {
    localStorage.setItem(PLACE, JSON.stringify(what));
  } catch {
    // nothing to be done about it
  }
}
