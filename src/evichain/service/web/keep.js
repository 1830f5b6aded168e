// Guest or kept: ratings stay in this browser unless one asks for them to be kept on the server,
// under an id drawn by chance; then whatever is rated is stored there too, until it is erased.

import { ask, Refused, trouble } from "./api.js";
import { $ } from "./words.js";

const GUEST = "Your ratings stay in this browser. Nothing is stored on the server.";
const KEPT =
  "Your ratings are kept on the server, under a random name. They are evidence for others, too.";

export class Keep {
  /** What the server has, item -> rating. */
  #saved = new Map();
  #running = null;
  #erasing = false;

  constructor(state) {
    this.state = state;
    $("keep").addEventListener("click", () => this.#keep());
    $("erase").addEventListener("click", () => this.#erase());
    state.addEventListener("change", () => this.#draw());
    state.addEventListener("change", ({ detail }) => detail !== "off" && detail !== "open" && this.#sync());
    this.#draw();
  }

  /** Someone who comes back: what this browser knows is newest; the server may know more only of
   * someone of whom it knows nothing any more. */
  async resume() {
    if (!this.state.user) return;
    const { ratings } = await this.#asked("/ratings").catch(unknown);
    this.#saved = new Map(ratings.map(({ item, rating }) => [item, rating]));
    if (this.state.ratings.size) this.#sync();
    else this.state.replace(ratings);
  }

  #asked(path, options) {
    return ask(`v1/users/${encodeURIComponent(this.state.user)}${path}`, options);
  }

  #keep() {
    // 128 random bits: no two browsers draw the same, and it tells nothing of anyone.
    const parts = crypto.getRandomValues(new Uint32Array(4));
    this.state.keepAs(`guest-${[...parts].map((part) => part.toString(16).padStart(8, "0")).join("")}`);
  }

  #sync() {
    if (this.#running) return;
    trouble(this, null);
    if (!this.state.user) return;
    this.#running = this.#brought().finally(() => {
      this.#running = null;
      this.#draw();
    });
  }

  /** Brings the server to what the page shows, one change after the other; changes that come
   * meanwhile are found by looking again. */
  async #brought() {
    try {
      for (let next; !this.#erasing && (next = this.#difference()); ) {
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
      // Who may not write is a guest, as before; but who has something there must be able to erase it.
      if (error.code === 403 && !this.#saved.size) this.state.keepAs(null);
      trouble(this, `Your ratings could not be kept: ${error.message}`);
    }
  }

  #difference() {
    for (const [item, { rating }] of this.state.ratings) {
      if (this.#saved.get(item) !== rating) return [item, rating];
    }
    for (const item of this.#saved.keys()) if (!this.state.ratings.has(item)) return [item, undefined];
    return null;
  }

  /** Nothing may be stored after the erasure, and the id must be known until it is done. */
  async #erase() {
    this.#erasing = true;
    trouble(this, null);
    try {
      await this.#running;
      if (this.state.user) await this.#asked("", { method: "DELETE" }).catch(unknown);
      this.#saved.clear();
      this.state.user = null;
      this.state.replace([]);
      $("news").textContent = "Everything of yours is erased.";
    } catch (error) {
      trouble(this, `Nothing could be erased: ${error.message}`);
    } finally {
      this.#erasing = false;
    }
    $("search").focus();
  }

  #draw() {
    const { user, ratings } = this.state;
    const behind = user && this.#difference();
    $("keeping").hidden = !ratings.size && !user;
    $("keep").hidden = Boolean(user);
    const keeping = behind ? "Keeping your ratings on the server…" : KEPT;
    $("kept-where").textContent = user ? keeping : GUEST;
  }
}

/** Someone of whom the server knows nothing has no ratings; that is no error. */
function unknown(error) {
  if (error instanceof Refused && error.code === 404) return { ratings: [] };
  throw error;
}
