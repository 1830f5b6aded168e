// Elements, numbers and titles as the page writes them.

/** A new element. Text goes in as text, so that no title can become markup. */
export const make = (tag, attributes, ...children) =>
  filled(document.createElement(tag), attributes, children);

/** The same for SVG. */
export const mark = (tag, attributes, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function filled(element, attributes = {}, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value != null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

export const $ = (id) => document.getElementById(id);

/** "Shawshank Redemption, The (1994)" as people say it. */
export function readable(title) {
  return title.replace(/^(.*), (The|An?|La|Le|Les|Los|El|Il|Das|Der|Die)( \(.*\))?$/, "$2 $1$3");
}

/** The same without the year, for where a film is only spoken of. */
export const nameOf = (title) => readable(title).replace(/ \(\d{4}\)$/, "");

/** The title as elements, the year less loud. */
export function named(title) {
  const [, name, year] = readable(title).match(/^(.*?)( \(\d{4}\))?$/s);
  return year ? [name, make("small", { class: "year" }, ` ${year.slice(2, -1)}`)] : [name];
}

export const number = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

export const fixed = (value, digits = 1) => value.toFixed(digits);

/** A difference with its sign, and a true minus. */
export function signed(value, digits = 2) {
  const size = Math.abs(value).toFixed(digits);
  return Number(size) === 0 ? "±0" : (value < 0 ? "−" : "+") + size;
}

/** "1 rating", "2,451 ratings" */
export const counted = (count, noun) => `${number.format(count)} ${noun}${count === 1 ? "" : "s"}`;

export const stars = (rating) => counted(rating, "star");

/** "Alien, Babe and 2 more" */
export function listed(titles, most = 3) {
  const shown = titles.length > most ? titles.slice(0, most - 1) : titles;
  const rest = titles.length - shown.length;
  const parts = rest ? [...shown, `${rest} more`] : shown;
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}
