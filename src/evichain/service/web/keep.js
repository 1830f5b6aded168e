// Guest or kept: ratings stay in this browser unless one asks for them to be kept on the server,
// under an id drawn by chance; then whatever is rated is stored there too, until it is erased.

import { ask, Refused, status } from "./api.js";
import { $ } from "./words.js";

export class Keep {
  /** What the server has, item -> rating. */
  #saved = new Map();
  #running = false;

  constructor(state) {
    this.state = state;
    $("keep").addEventListener("click", () => this.#keep());
    $("erase").addEventListener("click", () => this.#erase());
    state.addEventListener("change", () => this.#draw());
    state.addEventListener("change", ({ detail }) => detail !== "off" && detail !== "open" && this.#sync());
    this.#draw();
  }

  /** Someone who comes back: the server's ratings are the true ones. */
  async resume() {
    if (!this.state.user) return;
    const { ratings } = await this.#asked("/ratings").catch(unknown);
    if (ratings.length) {
      this.#saved = new Map(ratings.map(({ item, rating }) => [item, rating]));
      this.state.replace(ratings);
    } else this.#sync();
  }

  #asked(path, options) {
    return ask(`v1/users/${encodeURIComponent(this.state.user)}${path}`, options);
  }

  #keep() {
    // 128 random bits: nobody can guess whose ratings these are, nor ask for them.
    this.state.keepAs(`guest-${crypto.getRandomValues(new Uint32Array(4)).reduce((id, part) => id + part.toString(16).padStart(8, "0"), "")}`);
  }

  /** Brings the server to what the page shows, one change after the other; changes that come
   * meanwhile are found by looking again. */
  async #sync() {
    if (!this.state.user || this.#running) return;
    this.#running = true;
    try {
      for (let next; this.state.user && (next = this.#difference()); ) {
        const [item, rating] = next;
        const path = `/ratings/${encodeURIComponent(item)}`;
        if (rating === undefined) {
          await this.#asked(path, { method: "DELETE" }).catch(unknown);
          this.#saved.delete(item);
        } else {
          await this.#asked(path, { method: "PUT", body: { rating } });
          this.#saved.set(item, rating);
        }
      }
    } catch (error) {
      status.dispatchEvent(new CustomEvent("trouble", { detail: `Your ratings could not be kept: ${error.message}` }));
    } finally {
      this.#running = false;
      this.#draw();
    }
  }

  #difference() {
    for (const [item, { rating }] of this.state.ratings) {
      if (this.#saved.get(item) !== rating) return [item, rating];
    }
    for (const item of this.#saved.keys()) if (!this.state.ratings.has(item)) return [item, undefined];
    return null;
  }

  async #erase() {
    if (this.state.user) {
      await this.#asked("", { method: "DELETE" }).catch(unknown);
      this.#saved.clear();
      this.state.user = null;
    }
    this.state.replace([]);
    $("search").focus();
    $("news").textContent = "Everything of yours is erased.";
  }

  #draw() {
    const { user, ratings } = this.state;
    const behind = user && this.#difference();
    $("keeping").hidden = !ratings.size && !user;
    $("keep").hidden = Boolean(user);
    $("kept-where").textContent = !user
      ? "Your ratings stay in this browser. Nothing is stored on the server."
      : behind ? "Keeping your ratings on the server…" : "Your ratings are kept on the server, under a random id that only this browser knows.";
  }
}

/** Someone of whom the server knows nothing has no ratings; that is no error. */
function unknown(error) {
  if (error instanceof Refused && error.code === 404) return { ratings: [] };
  throw error;
}
