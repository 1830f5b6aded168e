// Puts the page together.

import { ask, status, trouble, useKey } from "./api.js";
import { Films } from "./films.js";
import { Keep } from "./keep.js";
import { List } from "./list.js";
import { overview } from "./overview.js";
import { searching } from "./search.js";
import { Scale } from "./stars.js";
import { State } from "./state.js";
import { Why } from "./why.js";
import { $ } from "./words.js";

status.addEventListener("trouble", ({ detail }) => {
  $("trouble").hidden = !detail;
  $("trouble-what").textContent = detail ?? "";
});
status.addEventListener("locked", () => {
  $("key-form").hidden = false;
});
$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  useKey($("key").value.trim());
  location.reload();
});

// Where the list is out of sight, as on a phone while one rates, its first film is told below.
new IntersectionObserver(([{ isIntersecting, boundingClientRect }]) => {
  $("peek").hidden = isIntersecting || boundingClientRect.top < 0;
}).observe($("suggestions"));

try {
  const state = new State();
  const figures = await ask("v1/overview");
  const scale = new Scale(figures.scale);
  overview(figures, state);
  const films = new Films(state, scale);
  searching((film) => films.add(film));
  new List(state, scale);
  new Why(state, scale);
  const keep = new Keep(state);
  await Promise.all([films.offer(), keep.resume()]);
} catch (error) {
  trouble("page", error.message);
}
