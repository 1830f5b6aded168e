// The search field: films as one types, chosen with the pointer or with arrows and Enter.

import { ask, Newest } from "./api.js";
import { $, counted, make, named } from "./words.js";

const MOST = 8;
const REST = 120;

/** `choose` is called with {item, title}. */
export function searching(choose) {
  const input = $("search");
  const box = $("found");
  const newest = new Newest();
  let films = [];
  let active = -1;
  let timer = 0;

  function show(found) {
    films = found;
    active = -1;
    box.replaceChildren(
      ...found.map(({ title, ratings }, k) =>
        make(
          "li",
          { id: `found-${k}`, role: "option", "aria-selected": "false" },
          make("span", {}, ...named(title)),
          make("small", {}, counted(ratings, "rating")),
        ),
      ),
    );
    const none = make("li", { class: "none", role: "presentation" }, "No film of that name");
    if (!found.length) box.append(none);
    toggle(true);
    mark(found.length ? 0 : -1);
  }

  function toggle(open) {
    box.hidden = !open;
    input.setAttribute("aria-expanded", String(open));
    if (!open) input.removeAttribute("aria-activedescendant");
  }

  function mark(next) {
    box.children[active]?.setAttribute("aria-selected", "false");
    active = next;
    if (active < 0) return input.removeAttribute("aria-activedescendant");
    const option = box.children[active];
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", option.id);
  }

  function leave() {
    clearTimeout(timer);
    newest.cancel();
    toggle(false);
  }

  function take(film) {
    leave();
    input.value = "";
    if (film) choose(film);
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    const text = input.value.trim();
    if (!text) return leave();
    timer = setTimeout(() => {
      const path = `v1/items?${new URLSearchParams({ search: text, n: MOST })}`;
      const films = ({ items }) => items.map(({ id, ...film }) => ({ item: id, ...film }));
      newest.run((signal) => ask(path, { signal }), (answer) => show(films(answer)));
    }, REST);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      if (box.hidden) input.value = "";
      leave();
    } else if (box.hidden || !films.length) return;
    else if (event.key === "ArrowDown") mark((active + 1) % films.length);
    else if (event.key === "ArrowUp") mark((active - 1 + films.length) % films.length);
    else if (event.key === "Enter") take(films[active]);
    else return;
    event.preventDefault();
  });
  input.addEventListener("blur", leave);
  // The field keeps the focus, or the list would be gone before the click arrives.
  box.addEventListener("pointerdown", (event) => event.preventDefault());
  box.addEventListener("click", (event) => {
    const option = event.target.closest('[role="option"]');
    if (option) take(films[[...box.children].indexOf(option)]);
  });
}
