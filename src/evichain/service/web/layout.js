// Where everything of a chain stands: four columns, of which the first (you) and the last (the film)
// are as high as what they are linked with, so that their edges run level and can be compared.

import { FILM, FILMS, PEOPLE, YOU } from "./graph.js";

const ROOMY = 480;
const HEAD = 28;
const SIZES = {
  roomy: { you: 56, people: 100, film: 124, gap: 62, apart: 26, linked: 66, row: 46, height: 38 },
  tight: { you: 28, people: 56, film: 38, gap: 27, apart: 8, linked: 30, row: 56, height: 50 },
};
const WIDEST = 240;

/** Gives every node x, y (its middle), width and height; returns the size of the drawing. */
export function layout(graph, width) {
  const roomy = width >= ROOMY;
  const size = roomy ? SIZES.roomy : SIZES.tight;
  const deep = graph.edges.some(({ from, to }) => from.column === FILMS && to.column === PEOPLE);
  const middle = deep ? size.linked : size.apart;
  const left = width - size.you - size.people - size.film - 2 * size.gap - middle;
  const films = Math.min(WIDEST, left);
  // What is left over goes between films and people.
  const gaps = [size.gap, middle + left - films, size.gap];
  const places = columns([size.you, films, size.people, size.film], gaps);
  const rows = Math.max(graph.column(FILMS).length, graph.column(PEOPLE).length, 2);
  for (const column of [FILMS, PEOPLE]) {
    const nodes = graph.column(column);
    const top = HEAD + (deep ? 0 : ((rows - nodes.length) * size.row) / 2);
    nodes.forEach((node, k) => {
      Object.assign(node, places[column], {
        y: top + (k + 0.5) * size.row,
        height: column === PEOPLE ? Math.min(size.height, 38) : size.height,
      });
    });
  }
  const height = HEAD + rows * size.row;
  for (const column of [YOU, FILM]) {
    const [end] = graph.column(column);
    const linked = graph.of(end).map(({ from, to }) => (from === end ? to : from).y);
    if (!linked.length) linked.push(height / 2 - 32, height / 2 + 32);
    const [first, last] = [Math.min(...linked), Math.max(...linked)];
    const least = column === FILM && roomy ? 116 : 0;
    const span = Math.max(last - first + size.height, least);
    Object.assign(end, places[column], { y: (first + last) / 2, height: span });
  }
  return { width, height: height + 22, roomy };
}

function columns(widths, gaps) {
  let x = 0;
  return widths.map((width, k) => {
    const place = { x, width };
    x += width + (gaps[k] ?? 0);
    return place;
  });
}

/** The line of an edge, and where on it the rating is written, if there is room. */
export function route({ from, to }, roomy) {
  const x1 = from.x + from.width, x2 = to.x, middle = (x1 + x2) / 2;
  // Where there is little room, ratings sit on the rims of nodes, so that the lines are seen.
  const [before, after] = roomy ? [middle, middle] : [x2 - 4, x1 + 4];
  if (from.column === YOU) return { path: `M${x1} ${to.y}H${x2}`, chip: [before, to.y] };
  if (to.column === FILM) return { path: `M${x1} ${from.y}H${x2}`, chip: [after, from.y] };
  const path = `M${x1} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${x2} ${to.y}`;
  return { path, chip: roomy ? [middle, (from.y + to.y) / 2] : null };
}
