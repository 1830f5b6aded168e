// From the trace of a prediction to what is drawn: who and what stands in which column, and the
// ratings between them. A person or a film that occurs twice in the tree is one and the same here.

export const YOU = 0, FILMS = 1, PEOPLE = 2, FILM = 3;

const SHOWN = { 1: { people: 6, behind: 0 }, 2: { people: 5, behind: 2 } };

/** How many pieces to ask for. */
export const PIECES = 8;

/** `mine` is one's evidence in the order it is shown: [{item, title, rating, on}]. */
export function graphOf(trace, mine, depth) {
  const graph = new Graph();
  const limits = SHOWN[depth];
  const film = graph.node("item", trace.item.id, FILM, { ...trace.item, title: trace.item.title });
  const you = graph.node("user", "you", YOU, { title: "You", prototype: trace.user.prototype });
  const pieces = new Map(trace.user.pieces.map((piece) => [String(piece.id), piece]));
  for (const { item, title, rating, on } of mine) {
    const piece = on ? pieces.get(item) : undefined;
    const node = graph.node("item", item, FILMS, { title, prototype: piece?.prototype, mine: true, on, rating });
    graph.link(you, node, rating, piece?.contribution ?? 0, on);
    for (const person of piece?.pieces.slice(0, limits.behind) ?? []) {
      graph.link(node, graph.node("user", person.id, PEOPLE, person), person.rating, person.contribution);
    }
  }
  for (const person of trace.item.pieces.slice(0, limits.people)) {
    const node = graph.node("user", person.id, PEOPLE, person);
    graph.link(node, film, person.rating, person.contribution);
    for (const other of person.pieces.slice(0, limits.behind)) {
      // The film in question is among what its raters rated; it stands at the end already.
      if (String(other.id) === String(trace.item.id)) continue;
      graph.link(graph.node("item", other.id, FILMS, other), node, other.rating, other.contribution);
    }
  }
  const hidden = trace.item.pieces.length - Math.min(limits.people, trace.item.pieces.length);
  graph.more = { films: trace.user.others, people: trace.item.others + hidden };
  graph.arrange();
  return graph;
}

class Graph {
  nodes = new Map();
  edges = [];
  more = { films: 0, people: 0 };

  node(side, id, column, { title, prototype, ...rest }) {
    const key = `${side} ${id}`;
    if (!this.nodes.has(key)) {
      const name = side === "user" && column === PEOPLE ? `person ${title}` : title;
      this.nodes.set(key, { ...rest, key, id: String(id), side, column, name, prototype: Boolean(prototype) });
    }
    return this.nodes.get(key);
  }

  link(from, to, rating, contribution, on = true) {
    const same = this.edges.find((edge) => edge.from === from && edge.to === to);
    if (!same) this.edges.push({ key: `${from.key}>${to.key}`, from, to, rating, contribution, on });
    else if (Math.abs(contribution) > Math.abs(same.contribution)) same.contribution = contribution;
  }

  column(column) {
    return [...this.nodes.values()]
      .filter((node) => node.column === column)
      .sort((a, b) => a.order - b.order);
  }

  of(node) {
    return this.edges.filter(({ from, to }) => from === node || to === node);
  }

  /** One's own films keep their order; everything else goes near what it is linked with. */
  arrange() {
    [...this.nodes.values()].forEach((node, k) => (node.order = k));
    for (let sweep = 0; sweep < 4; sweep++) {
      this.#settle(PEOPLE, FILMS);
      this.#settle(FILMS, PEOPLE);
    }
  }

  #settle(column, other) {
    const places = new Map(this.column(other).map((node, k) => [node, k]));
    const wanted = this.column(column).map((node, k) => {
      const near = this.of(node)
        .map(({ from, to }) => places.get(from === node ? to : from))
        .filter((place) => place !== undefined);
      const mean = near.length ? near.reduce((sum, place) => sum + place, 0) / near.length : k;
      return [node, node.mine ? k - 1000 : mean];
    });
    wanted.sort((a, b) => a[1] - b[1]).forEach(([node], k) => (node.order = k));
  }
}
