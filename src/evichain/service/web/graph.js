// From the trace of a prediction to what is drawn: who and what stands in which column, and the
// ratings between them. A person or a film that occurs twice in the tree is one and the same here.

export const YOU = 0, FILMS = 1, PEOPLE = 2, FILM = 3;

/** How many raters of the film are shown, and how many pieces behind each piece, by depth. */
const SHOWN = { 1: [6], 2: [5, 2], 3: [4, 1, 1] };

/** How many pieces to ask for. */
export const PIECES = 8;

/** `mine` is one's evidence in the order it is shown: [{item, title, rating, on}]. */
export function graphOf(trace, mine, depth) {
  const graph = new Graph();
  const [people, ...behind] = SHOWN[depth];
  const film = graph.node(trace.item, FILM);
  const you = graph.node({ ...trace.user, id: "you", title: "You" }, YOU);
  const pieces = new Map(trace.user.pieces.map((piece) => [String(piece.id), piece]));
  for (const { item, on, ...own } of mine) {
    const piece = on ? pieces.get(item) : undefined;
    const prototype = piece?.prototype;
    const node = graph.node({ side: "item", id: item, ...own, mine: true, on, prototype }, FILMS);
    graph.link(you, node, own.rating, piece?.contribution ?? 0, on);
    if (piece) graph.grow(node, piece, behind);
  }
  for (const piece of trace.item.pieces.slice(0, people)) {
    const node = graph.node(piece, PEOPLE);
    graph.link(node, film, piece.rating, piece.contribution);
    graph.grow(node, piece, behind);
  }
  const unseen = Math.max(0, trace.item.pieces.length - people);
  graph.more = { films: trace.user.others, people: trace.item.others + unseen };
  graph.arrange();
  return graph;
}

class Graph {
  nodes = new Map();
  edges = [];
  more = { films: 0, people: 0 };

  node({ side, id, title, prototype, mine, on }, column) {
    const key = `${side} ${id}`;
    if (!this.nodes.has(key)) {
      const name = column === PEOPLE ? `person ${title}` : title;
      this.nodes.set(key, { key, id: String(id), side, column, title, name, mine, on, prototype: false });
    }
    // A prototype in one place of the tree is one, though elsewhere it was generated.
    this.nodes.get(key).prototype ||= Boolean(prototype);
    return this.nodes.get(key);
  }

  link(from, to, rating, contribution, on = true) {
    const same = this.edges.find((edge) => edge.from === from && edge.to === to);
    if (!same) this.edges.push({ key: `${from.key}>${to.key}`, from, to, rating, contribution, on });
    else if (Math.abs(contribution) > Math.abs(same.contribution)) same.contribution = contribution;
  }

  /** Adds what is behind a piece: `limits` says how many pieces, depth by depth. */
  grow(node, piece, [limit, ...deeper]) {
    if (!limit) return;
    // The film in question is among what its raters rated; it stands at the end already.
    const known = ({ side, id }) => this.nodes.get(`${side} ${id}`)?.column === FILM;
    for (const other of piece.pieces.filter((each) => !known(each)).slice(0, limit)) {
      const found = this.node(other, node.side === "user" ? FILMS : PEOPLE);
      const [from, to] = node.side === "user" ? [found, node] : [node, found];
      this.link(from, to, other.rating, other.contribution);
      this.grow(found, other, deeper);
    }
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
      this.#order(PEOPLE, FILMS);
      this.#order(FILMS, PEOPLE);
    }
  }

  #order(column, other) {
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
