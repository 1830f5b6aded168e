// The strip of figures: how much the model has seen, how small it is, how fast and how good.

import { ask, Newest } from "./api.js";
import { $, fixed, make, number } from "./words.js";

const EVERY = 10000;
const SOON = 1000;

/** Shows the figures, and again every few seconds and soon after something was rated. */
export function overview(first, state) {
  const newest = new Newest();
  let timer = 0;
  const again = (after) => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      if (!document.hidden) await newest.run((signal) => ask("v1/overview", { signal }), show);
      again(EVERY);
    }, after);
  };
  show(first);
  again(SOON);
  state.addEventListener("change", () => again(SOON));
}

function show(found) {
  const { ratings, users, items, parameters, recent_rmse: rmse, recent_ratings: judged } = found;
  const { latency_p50_ms: usual, latency_p99_ms: most } = found;
  const seen = `${number.format(users)} people, ${number.format(items)} films`;
  const within = most == null ? "no answers yet" : `99 % within ${short(most)} ms`;
  const guessed =
    rmse == null
      ? "none came in yet"
      : `RMSE of the latest ${number.format(judged)}, guessed before learning them`;
  $("figures").replaceChildren(
    figure("ratings", number.format(ratings), seen),
    figure("parameters", number.format(parameters), "does not grow with people or films"),
    figure("answer time", usual == null ? "–" : `${short(usual)} ms`, within),
    figure("error on new ratings", rmse == null ? "–" : fixed(rmse, 2), guessed),
  );
}

function figure(name, value, note) {
  const said = [make("dd", { class: "big" }, value), make("dd", { class: "small" }, note)];
  return make("div", {}, make("dt", {}, name), ...said);
}

const short = (ms) => (ms < 10 ? fixed(ms, 1) : fixed(ms, 0));
