// Where the columns of a chain stand: side by side where there is room, else (on a phone) you above,
// films left, people right, and the film below.

import { FILM, FILMS, PEOPLE, YOU } from "./graph.js";

const WIDE = 500;
const HEAD = 30;

/** Gives every node x, y (its middle), width and height; returns the size of the drawing. */
export function layout(graph, width) {
  return width >= WIDE ? sideBySide(graph, width) : stacked(graph, width);
}

function sideBySide(graph, width) {
  const gap = 58;
  const room = width - 3 * gap;
  const widths = { [YOU]: 64, [PEOPLE]: 104, [FILM]: 128 };
  widths[FILMS] = Math.min(230, room - widths[YOU] - widths[PEOPLE] - widths[FILM]);
  const rows = Math.max(graph.column(FILMS).length, graph.column(PEOPLE).length, 3);
  const pitch = 46;
  const height = HEAD + rows * pitch + 24;
  const spare = (room - Object.values(widths).reduce((sum, each) => sum + each, 0)) / 3;
  let x = 0;
  for (const column of [YOU, FILMS, PEOPLE, FILM]) {
    const nodes = graph.column(column);
    const top = HEAD + ((rows - nodes.length) * pitch) / 2;
    nodes.forEach((node, k) => {
      node.x = x;
      node.y = top + (k + 0.5) * pitch;
      node.width = widths[column];
      node.height = column === FILM ? 108 : column === YOU ? 64 : 36;
    });
    x += widths[column] + gap + spare;
  }
  return { width, height, wide: true, bottom: height - 10 };
}

function stacked(graph, width) {
  const side = 30;
  const gap = 34;
  const films = Math.round((width - 2 * side - gap) * 0.58);
  const people = width - 2 * side - gap - films;
  const pitch = 54;
  const rows = Math.max(graph.column(FILMS).length, graph.column(PEOPLE).length, 2);
  const top = 44 + 34;
  const place = (column, x, each) => {
    const nodes = graph.column(column);
    const shift = ((rows - nodes.length) * pitch) / 2;
    nodes.forEach((node, k) => {
      Object.assign(node, { x, y: top + shift + (k + 0.5) * pitch, width: each, height: 44 });
    });
  };
  place(FILMS, side, films);
  place(PEOPLE, side + films + gap, people);
  const bottom = top + rows * pitch + 30;
  Object.assign(graph.column(YOU)[0], { x: 0, y: 22, width: 84, height: 44 });
  Object.assign(graph.column(FILM)[0], { x: width - 236, y: bottom + 30, width: 236, height: 60 });
  return { width, height: bottom + 62, wide: false, bottom: bottom - 10 };
}

/** The line of an edge, and where on it the rating is written. */
export function route({ from, to }, wide) {
  if (!wide && from.column === YOU) {
    const x = from.x + 14, start = from.y + from.height / 2;
    return { path: `M${x} ${start}V${to.y - 24}Q${x} ${to.y} ${to.x} ${to.y}`, chip: [to.x - 13, to.y] };
  }
  if (!wide && to.column === FILM) {
    const x = to.x + to.width - 14, end = to.y - to.height / 2, right = from.x + from.width;
    return { path: `M${right} ${from.y}Q${x} ${from.y} ${x} ${from.y + 24}V${end}`, chip: [right + 13, from.y] };
  }
  const x1 = from.x + from.width, x2 = to.x, middle = (x1 + x2) / 2;
  const path = `M${x1} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${x2} ${to.y}`;
  if (from.column === YOU) return { path, chip: [x2 - 22, to.y] };
  if (to.column === FILM) return { path, chip: [x1 + 22, from.y] };
  return { path, chip: wide ? [middle, (from.y + to.y) / 2] : null };
}
