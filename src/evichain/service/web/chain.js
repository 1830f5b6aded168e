// Draws an evidence chain: people as pills, films as cards, prototypes shaded; between them the
// ratings, thicker for more contribution, coloured (and dashed) by its sign. One's own films are
// switches. Arrow keys walk from node to node.

import { FILM, FILMS, PEOPLE, YOU } from "./graph.js";
import { layout, route } from "./layout.js";
import { label, lines, measureWith, star, wrapped } from "./marks.js";
import { fixed, mark, nameOf, number } from "./words.js";

const THICKEST = 9;
/** What shows as ±0.00 speaks neither for nor against. */
const LITTLE = 0.005;

export class Chain {
  #widths = new Map();

  /** `flip(item, on)` switches a piece of evidence; `point(node | null, graph)` tells where the reader is. */
  constructor(place, { flip, point }) {
    this.place = place;
    this.flip = flip;
    this.point = point;
    // Turning a phone, or opening a side bar, asks for another arrangement.
    new ResizeObserver(() => {
      if (this.graph && place.clientWidth !== this.width) this.#draw();
    }).observe(place);
  }

  show(graph, { label, estimate }) {
    this.graph = graph;
    this.label = label;
    this.estimate = estimate;
    this.#draw();
  }

  clear() {
    this.graph = null;
    this.#widths.clear();
    this.place.replaceChildren();
  }

  #draw() {
    const { graph, place } = this;
    const focused = place.contains(document.activeElement) && document.activeElement.dataset.key;
    this.width = place.clientWidth;
    const size = layout(graph, this.width);
    measureWith(`500 ${size.roomy ? 13 : 12}px ${getComputedStyle(place).fontFamily}`);
    const drawn = mark("svg", {
      viewBox: `0 0 ${size.width} ${size.height}`,
      width: size.width,
      height: size.height,
      role: "group",
      class: size.roomy ? "" : "tight",
      "aria-label": this.label,
    });
    const { edges, chips } = this.#edges(size.roomy);
    const nodes = [...graph.nodes.values()].map((node) => this.#node(node, size.roomy));
    drawn.append(...heads(graph), ...edges, ...rest(graph), ...nodes, ...chips);
    place.replaceChildren(drawn);
    // Other evidence may have other people: who was on one that is gone goes on from the first.
    const current =
      nodes.find(({ dataset }) => dataset.key === focused) ??
      nodes.find((node) => node.getAttribute("role") === "switch") ??
      nodes[0];
    this.#rove(current);
    this.#point(null);
    if (focused) current.focus({ preventScroll: true });
  }

  #edges(roomy) {
    const all = this.graph.edges;
    const largest = Math.max(...all.map(({ contribution }) => Math.abs(contribution)), 1e-9);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    // The strongest are drawn last, on top.
    const sorted = [...all].sort((a, b) => Math.abs(a.contribution) - Math.abs(b.contribution));
    const chips = [];
    const edges = sorted.map((edge) => {
      const { path, chip } = route(edge, roomy);
      const width = edge.on ? 1.2 + (THICKEST - 1.2) * Math.sqrt(Math.abs(edge.contribution) / largest) : 1.2;
      const line = mark("path", { class: `edge ${sign(edge)}`, d: path, "data-edge": edge.key });
      line.setAttribute("stroke-width", fixed(width));
      const before = this.#widths.get(edge.key);
      if (before !== undefined && before !== width && !still) {
        const frames = [before, width].map((each) => ({ strokeWidth: `${each}px` }));
        line.animate(frames, { duration: 400, easing: "ease-out" });
      }
      this.#widths.set(edge.key, width);
      if (chip) chips.push(rated(edge, chip, roomy));
      return line;
    });
    return { edges, chips };
  }

  #node(node, roomy) {
    const { x, y, width, height, side, column } = node;
    const place = `translate(${x} ${y - height / 2})`;
    const drawn = mark("g", { class: `node ${side}`, tabindex: -1, "data-key": node.key, transform: place });
    drawn.classList.toggle("stored", node.prototype);
    drawn.classList.toggle("off", Boolean(node.mine && !node.on));
    drawn.classList.toggle("target", column === FILM);
    drawn.append(mark("rect", { width, height, rx: side === "user" ? Math.min(width, height) / 2 : 8 }));
    if (column === YOU) drawn.append(...lines(["You"], width / 2, height / 2, "middle"));
    else if (column === FILM) drawn.append(...this.#target(node, roomy));
    else drawn.append(...label(node, roomy));
    drawn.setAttribute("aria-label", this.#says(node));
    drawn.setAttribute("role", node.mine ? "switch" : "img");
    if (node.mine) drawn.setAttribute("aria-checked", String(node.on));
    this.#listen(drawn, node);
    return drawn;
  }

  /** The film itself; where there is little room, its title is left to the heading above. */
  #target({ title, width, height }, roomy) {
    const place = { x: width / 2, y: height / 2 + (roomy ? 34 : 6), "text-anchor": "middle" };
    const value = mark("text", { class: "value", ...place }, fixed(this.estimate));
    if (!roomy) return [value];
    const written = wrapped(nameOf(title), width - 16, 3);
    return [...lines(written, width / 2, height / 2 - 20, "middle"), value];
  }

  #says(node) {
    if (node.column === YOU) return "You";
    if (node.column === FILM) return `${nameOf(node.name)}, expected ${fixed(this.estimate)}`;
    const ratings = this.graph.of(node).map(({ from, to, rating }) => {
      const other = from === node ? to : from;
      return `${number.format(rating)} ${node.side === "user" ? "for" : "from"} ${nameOf(other.name)}`;
    });
    return `${nameOf(node.name)}: ${ratings.join(", ")}`;
  }

  #listen(drawn, node) {
    const flip = () => node.mine && this.flip(node.id, !node.on);
    drawn.addEventListener("click", flip);
    drawn.addEventListener("pointerenter", () => this.#point(node));
    drawn.addEventListener("pointerleave", () => this.#point(null));
    drawn.addEventListener("focus", () => (this.#rove(drawn), this.#point(node)));
    drawn.addEventListener("blur", () => this.#point(null));
    drawn.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") flip();
      else if (!event.key.startsWith("Arrow")) return;
      else this.#walk(node, event.key);
      event.preventDefault();
    });
  }

  /** One node at a time is in the order of the Tab key; arrows reach the others. */
  #rove(chosen) {
    for (const drawn of this.place.querySelectorAll(".node")) drawn.setAttribute("tabindex", -1);
    chosen.setAttribute("tabindex", 0);
  }

  #walk(node, key) {
    const step = key === "ArrowUp" || key === "ArrowLeft" ? -1 : 1;
    let next;
    if (key === "ArrowUp" || key === "ArrowDown") {
      const column = this.graph.column(node.column);
      next = column[column.indexOf(node) + step];
    } else {
      const column = this.graph.column(node.column + step);
      next = column.sort((a, b) => Math.abs(a.y - node.y) - Math.abs(b.y - node.y))[0];
    }
    if (next) this.place.querySelector(`[data-key="${CSS.escape(next.key)}"]`).focus();
  }

  #point(node) {
    const svg = this.place.firstChild;
    const near = new Set(node ? this.graph.of(node).map(({ key }) => key) : []);
    svg.classList.toggle("pointing", near.size > 0);
    for (const edge of svg.querySelectorAll("[data-edge]")) {
      edge.classList.toggle("lit", near.has(edge.dataset.edge));
    }
    this.point(node, this.graph);
  }
}

function sign({ contribution, on }) {
  if (!on) return "off";
  return Math.abs(contribution) < LITTLE ? "little" : contribution > 0 ? "adds" : "takes";
}

function heads(graph) {
  const deep = graph.edges.some(({ from, to }) => from.column === FILMS && to.column === PEOPLE);
  const names = [[FILMS, deep ? "films" : "your films"], [PEOPLE, deep ? "people" : "its raters"]];
  return names.flatMap(([column, name]) => said(graph.column(column)[0], name, () => 16));
}

/** How much more evidence there is than is drawn. */
function rest(graph) {
  const { films, people } = graph.more;
  const below = ({ y, height }) => y + height / 2 + 18;
  return [[FILMS, films], [PEOPLE, people]].flatMap(([column, count]) =>
    count ? said(graph.column(column).at(-1), `${number.format(count)} more`, below) : [],
  );
}

function said(node, words, height) {
  if (!node) return [];
  const place = { x: node.x + node.width / 2, y: height(node), "text-anchor": "middle" };
  return [mark("text", { class: "head", ...place }, words)];
}

function rated(edge, [x, y], roomy) {
  const value = number.format(edge.rating);
  const width = roomy ? 21 + 7 * value.length : 12 + 7 * value.length;
  const place = `translate(${x} ${y})`;
  const chip = mark("g", { class: `chip ${sign(edge)}`, "data-edge": edge.key, transform: place });
  chip.append(mark("rect", { x: -width / 2, y: -10, width, height: 20, rx: 10 }));
  if (roomy) chip.append(star(-width / 2 + 5, -5.5));
  chip.append(mark("text", { x: roomy ? 6 : 0, y: 4.2, "text-anchor": "middle" }, value));
  return chip;
}
