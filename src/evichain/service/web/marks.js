// What the nodes of a chain are made of: lines of text, a switch, a head, a star.

import { mark, nameOf } from "./words.js";

const STAR = "M12 2.2l2.9 6.2 6.8.8-5 4.6 1.3 6.7-6-3.3-6 3.3 1.3-6.7-5-4.6 6.8-.8z";
const HEAD = "M6.5 0a3.4 3.4 0 1 1 0 6.8a3.4 3.4 0 1 1 0-6.8M0 14a6.5 6 0 0 1 13 0z";
const ruler = document.createElement("canvas").getContext("2d");

/** Titles are cut to the room there is, so their font has to be known. */
export function measureWith(font) {
  ruler.font = font;
}

/** What is written on a person or a film: one's own films have a switch, people a head. */
export function label(node, roomy) {
  const { side, width, height } = node;
  const space = roomy ? 42 : 36;
  const left = node.mine ? space : side === "user" ? (roomy ? 32 : 26) : 12;
  const name = roomy ? nameOf(node.title) : brief(node);
  const written = wrapped(name, width - left - 6, roomy || side === "user" ? 2 : 3);
  const sign = node.mine ? [toggle(height, node.on, roomy)] : side === "user" ? [head(height, roomy)] : [];
  return [...sign, ...lines(written, left, height / 2, "start")];
}

/** Of an alias the last digits, where there is little room; whoever points at it is told the whole. */
function brief({ side, title }) {
  return side === "user" && /^#\d+$/.test(title) ? title.slice(-3) : nameOf(title);
}

/** A star of about ten pixels. */
export function star(x, y) {
  return mark("path", { class: "star", transform: `translate(${x} ${y}) scale(.46)`, d: STAR });
}

function toggle(height, on, roomy) {
  const scale = roomy ? 1 : 0.8;
  const place = `translate(${roomy ? 8 : 10} ${height / 2 - 8 * scale}) scale(${scale})`;
  const knob = mark("circle", { cx: on ? 19 : 9, cy: 8, r: 6 });
  const track = mark("rect", { width: 28, height: 16, rx: 8 });
  return mark("g", { class: "switch", transform: place }, track, knob);
}

function head(height, roomy) {
  const place = `translate(${roomy ? 12 : 8} ${height / 2 - 7})`;
  return mark("path", { class: "person", transform: place, d: HEAD });
}

export function lines(written, x, y, anchor) {
  return written.map((line, k) =>
    mark("text", { x, y: y + 4.5 + (k - (written.length - 1) / 2) * 15, "text-anchor": anchor }, line),
  );
}

/** A text in at most so many lines of so many pixels, cut where it has to be. */
export function wrapped(title, room, most) {
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
