// Draws an evidence chain: people as pills, films as cards, prototypes shaded; between them the
// ratings, thicker for more contribution, coloured (and dashed) by its sign. One's own films are
// switches. Arrow keys walk from node to node.

import { FILM, FILMS, PEOPLE, YOU } from "./graph.js";
import { layout, route } from "./layout.js";
import { fixed, mark, nameOf, number } from "./words.js";

const THICKEST = 9;
/** What shows as ±0.00 speaks neither for nor against. */
const NOTHING = 0.005;
const ruler = document.createElement("canvas").getContext("2d");

export class Chain {
  #widths = new Map();

  /** `flip(item, on)` switches a piece of evidence; `point(node | null, graph)` tells where the reader is. */
  constructor(place, { flip, point }) {
    this.place = place;
    this.flip = flip;
    this.point = point;
    // Turning a phone, or opening a side bar, asks for another arrangement.
    new ResizeObserver(() => this.graph && this.place.clientWidth !== this.width && this.#draw()).observe(place);
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
    ruler.font = `500 ${size.roomy ? 13 : 12}px ${getComputedStyle(place).fontFamily}`;
    const drawn = mark("svg", {
      viewBox: `0 0 ${size.width} ${size.height}`,
      width: size.width,
      height: size.height,
      role: "group",
      class: size.roomy ? "" : "tight",
      "aria-label": this.label,
    });
    drawn.append(...heads(graph), ...this.#edges(size.roomy), ...rest(graph));
    const nodes = [...graph.nodes.values()].map((node) => this.#node(node, size.roomy));
    drawn.append(...nodes);
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
    const { edges } = this.graph;
    const largest = Math.max(...edges.map(({ contribution }) => Math.abs(contribution)), 1e-9);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    // The strongest are drawn last, on top.
    const sorted = [...edges].sort((a, b) => Math.abs(a.contribution) - Math.abs(b.contribution));
    const chips = [];
    const lines = sorted.map((edge) => {
      const { path, chip } = route(edge, roomy);
      const width = edge.on ? 1.2 + (THICKEST - 1.2) * Math.sqrt(Math.abs(edge.contribution) / largest) : 1.2;
      const line = mark("path", { class: `edge ${sign(edge)}`, d: path, "stroke-width": fixed(width), "data-edge": edge.key });
      const before = this.#widths.get(edge.key);
      if (before !== undefined && before !== width && !still) {
        line.animate([{ strokeWidth: `${before}px` }, { strokeWidth: `${width}px` }], { duration: 400, easing: "ease-out" });
      }
      this.#widths.set(edge.key, width);
      if (chip) chips.push(rated(edge, chip, roomy));
      return line;
    });
    return [...lines, ...chips];
  }

  #node(node, roomy) {
    const { x, y, width, height, side, column } = node;
    const kind = ["node", side, node.prototype && "stored", node.mine && !node.on && "off", column === FILM && "target"];
    const drawn = mark("g", { class: kind.filter(Boolean).join(" "), tabindex: -1, "data-key": node.key, transform: `translate(${x} ${y - height / 2})` });
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
    const value = mark("text", { class: "value", x: width / 2, y: height / 2 + 6, "text-anchor": "middle" }, fixed(this.estimate));
    if (!roomy) return [value];
    const written = wrapped(nameOf(title), width - 16, 3);
    value.setAttribute("y", height / 2 + 34);
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
    for (const edge of svg.querySelectorAll("[data-edge]")) edge.classList.toggle("lit", near.has(edge.dataset.edge));
    this.point(node, this.graph);
  }
}

function sign({ contribution, on }) {
  if (!on) return "off";
  return Math.abs(contribution) < NOTHING ? "little" : contribution > 0 ? "adds" : "takes";
}

function heads(graph) {
  const deep = graph.edges.some(({ from, to }) => from.column === FILMS && to.column === PEOPLE);
  const names = [[FILMS, deep ? "films" : "your films"], [PEOPLE, deep ? "people" : "its raters"]];
  return names.flatMap(([column, name]) => said(graph.column(column)[0], name, () => 16));
}

/** How much more evidence there is than is drawn. */
function rest(graph) {
  const { films, people } = graph.more;
  return [[FILMS, films], [PEOPLE, people]].flatMap(([column, count]) =>
    count ? said(graph.column(column).at(-1), `${number.format(count)} more`, ({ y, height }) => y + height / 2 + 18) : [],
  );
}

function said(node, words, height) {
  if (!node) return [];
  return [mark("text", { class: "head", x: node.x + node.width / 2, y: height(node), "text-anchor": "middle" }, words)];
}

function rated(edge, [x, y], roomy) {
  const value = number.format(edge.rating);
  const width = roomy ? 21 + 7 * value.length : 12 + 7 * value.length;
  const chip = mark("g", { class: `chip ${sign(edge)}`, "data-edge": edge.key, transform: `translate(${x} ${y})` });
  chip.append(mark("rect", { x: -width / 2, y: -10, width, height: 20, rx: 10 }));
  if (roomy) chip.append(mark("path", { class: "star", transform: `translate(${-width / 2 + 5} -5.5) scale(.46)`, d: STAR }));
  chip.append(mark("text", { x: roomy ? 6 : 0, y: 4.2, "text-anchor": "middle" }, value));
  return chip;
}

const STAR = "M12 2.2l2.9 6.2 6.8.8-5 4.6 1.3 6.7-6-3.3-6 3.3 1.3-6.7-5-4.6 6.8-.8z";

/** What is written on a person or a film: one's own films have a switch, people a head. */
function label(node, roomy) {
  const { side, width, height } = node;
  const space = roomy ? 42 : 34;
  const left = node.mine ? space : side === "user" ? (roomy ? 32 : 26) : 12;
  const written = wrapped(nameOf(node.title), width - left - 6, roomy || side === "user" ? 2 : 3);
  const sign = node.mine ? [toggle(height, node.on, roomy)] : side === "user" ? [head(height, roomy)] : [];
  return [...sign, ...lines(written, left, height / 2, "start")];
}

function toggle(height, on, roomy) {
  const scale = roomy ? 1 : 0.8;
  const place = `translate(${roomy ? 8 : 6} ${height / 2 - 8 * scale}) scale(${scale})`;
  const knob = mark("circle", { cx: on ? 19 : 9, cy: 8, r: 6 });
  return mark("g", { class: "switch", transform: place }, mark("rect", { width: 28, height: 16, rx: 8 }), knob);
}

function head(height, roomy) {
  const place = `translate(${roomy ? 12 : 8} ${height / 2 - 7})`;
  return mark("path", { class: "person", transform: place, d: "M6.5 0a3.4 3.4 0 1 1 0 6.8a3.4 3.4 0 1 1 0-6.8M0 14a6.5 6 0 0 1 13 0z" });
}

function lines(written, x, y, anchor) {
  return written.map((line, k) =>
    mark("text", { x, y: y + 4.5 + (k - (written.length - 1) / 2) * 15, "text-anchor": anchor }, line),
  );
}

/** A text in at most so many lines of so many pixels, cut where it has to be. */
function wrapped(title, room, most) {
  const fits = (line) => ruler.measureText(line).width <= room;
  const lines = [];
  let line = "";
  for (const word of title.split(" ")) {
    const longer = line ? `${line} ${word}` : word;
    if (fits(longer) || !line) line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  lines.push(line);
  const kept = lines.slice(0, most);
  if (lines.length > most) kept[most - 1] += "…";
  return kept.map((each) => {
    while (!fits(each) && each.length > 2) each = `${each.slice(0, -2).trimEnd()}…`;
    return each;
  });
}
