// The panel that answers "why?": the estimate, its chain, and what changes when a piece of evidence
// is switched off.

import { ask, Newest } from "./api.js";
import { Chain } from "./chain.js";
import { FILM, graphOf, PIECES, YOU } from "./graph.js";
import { given } from "./stars.js";
import { $, counted, fixed, listed, make, nameOf, named, signed, stars } from "./words.js";

export class Why {
  #newest = new Newest();
  /** What was said with everything switched on, to compare with. */
  #whole = null;
  #trace = null;
  #order = [];
  #opener = null;
  #arriving = false;

  constructor(state, scale) {
    this.state = state;
    this.scale = scale;
    this.chain = new Chain($("drawing"), {
      flip: (item, on) => state.switch(item, on),
      point: (node, graph) => this.#point(node, graph),
    });
    $("close").addEventListener("click", () => state.look(null));
    $("why").addEventListener("keydown", (event) => event.key === "Escape" && state.open && state.look(null));
    for (const radio of document.getElementsByName("depth")) {
      radio.addEventListener("change", () => state.deepen(Number(radio.value)));
    }
    state.addEventListener("change", ({ detail }) => detail !== "user" && this.#changed(detail));
  }

  #changed(what) {
    const { open, off } = this.state;
    if (!open) return this.#close();
    if (this.film?.item !== open.item) this.#begin(open);
    if (what === "ratings") this.#whole = null;
    // The switch moves at once; numbers follow when they come.
    if (what === "off" && this.#trace) this.#draw();
    $("verdict").setAttribute("aria-busy", "true");
    this.#newest.run((signal) => this.#ask(signal), ([trace, whole]) => {
      $("verdict").setAttribute("aria-busy", "false");
      this.#trace = trace;
      this.#whole = off.size ? whole : trace;
      this.#draw();
      this.#tell();
    });
  }

  async #ask(signal) {
    const { open, asked, off, depth } = this.state;
    const told = (without) => {
      const body = { ratings: asked, item: open.item, pieces: PIECES, depth, without, format: "json" };
      return ask("v1/explanations", { method: "POST", body, signal });
    };
    return Promise.all([told([...off]), off.size && !this.#whole ? told([]) : this.#whole]);
  }

  #begin(film) {
    this.#opener = document.activeElement;
    this.film = film;
    this.#whole = this.#trace = null;
    this.#order = [];
    this.chain.clear();
    $("why-body").hidden = false;
    $("why-hint").hidden = true;
    $("chosen-title").replaceChildren(...named(film.title));
    $("verdict").replaceChildren("…");
    $("seen-label").nextElementSibling?.remove();
    const label = `Your rating of ${nameOf(film.title)}`;
    const choose = (rating) => this.state.rate(film.item, film.title, rating);
    $("seen-label").after(given(this.scale, { label, choose }));
    this.#arriving = true;
    $("close").focus({ preventScroll: true });
  }

  /** Where the panel is below the list, it comes into view, once it has its height. */
  #arrive() {
    const { top } = $("why").getBoundingClientRect();
    const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
    if (this.#arriving && (top < 0 || top > innerHeight / 2)) $("why").scrollIntoView({ behavior });
    this.#arriving = false;
  }

  #close() {
    if (!this.film) return;
    const inside = $("why").contains(document.activeElement);
    this.film = null;
    this.#newest.cancel();
    this.chain.clear();
    $("why-body").hidden = true;
    $("why-hint").hidden = false;
    if (inside) (this.#opener?.isConnected ? this.#opener : $("list")).focus();
  }

  #draw() {
    const trace = this.#trace;
    const mine = this.#mine();
    $("no-chain").hidden = trace.reason === null;
    $("no-chain").textContent = `The estimate is only a mean or a prior: ${trace.reason}.`;
    const graph = graphOf(trace, mine, this.state.depth);
    $("stored-says").hidden = ![...graph.nodes.values()].some(({ prototype }) => prototype);
    this.chain.show(graph, {
      label: `The evidence behind ${fixed(trace.estimate)} for ${nameOf(this.film.title)}`,
      estimate: trace.estimate,
    });
    this.#verdict();
    this.#arrive();
  }

  /** One's evidence in an order that stays while pieces are switched off and on. */
  #mine() {
    const { ratings, off } = this.state;
    const found = this.#trace.user.pieces.map(({ id }) => String(id));
    for (const item of [...found, ...off]) if (!this.#order.includes(item)) this.#order.push(item);
    this.#order = this.#order.filter((item) => ratings.has(item) && (found.includes(item) || off.has(item)));
    return this.#order.map((item) => ({ item, ...ratings.get(item), on: !off.has(item) }));
  }

  #verdict() {
    const estimate = this.#trace.estimate;
    const before = this.#whole?.estimate ?? estimate;
    const number = make("strong", {}, fixed(estimate, 2));
    const expected = make("span", {}, number, ` of ${this.scale.high} stars expected`);
    $("verdict").replaceChildren(expected);
    if (!this.state.off.size || this.#whole === this.#trace) return;
    // As far apart as the two numbers that are shown.
    const by = Number(fixed(estimate, 2)) - Number(fixed(before, 2));
    const difference = make("span", { class: `difference ${by < 0 ? "takes" : "adds"}` }, signed(by));
    $("verdict").append(difference, make("span", { class: "from" }, `with everything: ${fixed(before, 2)}`));
  }

  #tell() {
    const name = nameOf(this.film.title);
    const { off, ratings } = this.state;
    const without = [...off].map((item) => nameOf(ratings.get(item)?.title ?? item));
    const by = signed(this.#trace.estimate - this.#whole.estimate);
    const change = off.size ? `Without ${listed(without)}: ${by}.` : "";
    $("news").textContent = `${name}: ${fixed(this.#trace.estimate, 2)} expected. ${change}`;
  }

  /** What is known of the node under the pointer or the focus. */
  #point(node, graph) {
    const lines = node ? this.#about(node, graph) : [this.#hint()];
    $("readout").replaceChildren(...lines.map((line) => make("span", {}, line)));
  }

  #hint() {
    if (!this.state.ratings.size) return "You have not rated anything yet: all of this comes from others.";
    return "Switch one of your films off to see what changes. Point at anything, or touch it, for its numbers.";
  }

  #about(node, graph) {
    if (node.column === YOU) return ["You: nothing is stored of you in the model, only your ratings are read."];
    const lines = [];
    for (const { from, to, rating, contribution, on } of graph.of(node)) {
      const [person, film] = from.side === "user" ? [from, to] : [to, from];
      const who = person.column === YOU ? "You" : `P${person.name.slice(1)}`;
      const worth = on ? this.#worth(contribution) : "switched off";
      lines.push(`${who} gave ${nameOf(film.name)} ${stars(rating)}: ${worth}`);
    }
    const count = counted(graph.more.people + lines.length, "rating");
    if (node.column === FILM) return [`${nameOf(node.name)}. Its evidence: ${count}.`];
    if (node.prototype) lines.push("A prototype: one of the few whose embedding the model has stored.");
    return lines;
  }

  #worth(contribution) {
    if (this.#trace.kind === "additive") return `brings ${signed(contribution)}`;
    const size = Math.abs(contribution);
    const digits = size < 0.005 ? 4 : 2;
    if (size < 0.00005) return "the estimate would be the same without it";
    return `without it the estimate would be ${fixed(size, digits)} ${contribution > 0 ? "lower" : "higher"}`;
  }
}
