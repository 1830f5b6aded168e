// Asks the server. What may pass by itself (too busy, restarting, offline) is tried again with
// growing pauses, and meanwhile announced; everything else is an error for the caller.

const PAUSES = [500, 1000, 2000, 4000, 8000];
const PASSING = new Set([429, 502, 503, 504]);

/** Tells of "trouble" (detail: what to say, or null when it is over) and "locked" (a key is asked for). */
export const status = new EventTarget();

export class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** The answer to a request, however often it has to be asked. `path` is relative to the page, so
 * that the service may live below any prefix. */
export async function ask(path, { method = "GET", body, signal } = {}) {
  const request = {};
  try {
    for (let attempt = 0; ; attempt++) {
      const response = await attempted(path, method, body, signal);
      if (response && !PASSING.has(response.status)) return await answer(response);
      trouble(request, response ? busy(response) : "The server cannot be reached. Trying again…");
      await pause(attempt, response, signal);
    }
  } finally {
    trouble(request, null);
  }
}

/** Runs one request at a time: a newer one makes older answers unwanted, in whatever order they come. */
export class Newest {
  #controller = new AbortController();

  cancel() {
    this.#controller.abort();
    this.#controller = new AbortController();
  }

  async run(work, use) {
    this.cancel();
    const { signal } = this.#controller;
    try {
      const found = await work(signal);
      if (signal.aborted) return;
      trouble(this, null);
      use(found);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Refused)) throw error;
      trouble(this, error.message);
    }
  }
}

export function useKey(key) {
  sessionStorage.setItem("evichain-key", key);
}

async function attempted(path, method, body, signal) {
  const headers = { Accept: "application/json" };
  const key = sessionStorage.getItem("evichain-key");
  if (key) headers["X-API-Key"] = key;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    const address = new URL(path, document.baseURI);
    return await fetch(address, { method, headers, signal, body: body && JSON.stringify(body) });
  } catch (error) {
    if (signal?.aborted) throw error;
    return null;
  }
}

async function answer(response) {
  const text = await response.text();
  if (response.ok) return text ? JSON.parse(text) : null;
  if (response.status === 401 || response.status === 403) tell("locked", response.status);
  throw new Refused(response.status, problem(text) ?? `The server answered ${response.status}.`);
}

function problem(text) {
  try {
    const { detail, title } = JSON.parse(text);
    return typeof detail === "string" ? detail : title;
  } catch {
    return undefined;
  }
}

function busy(response) {
  return response.status === 429
    ? "The server asks for a little patience. Trying again…"
    : "The server is not ready. Trying again…";
}

/** Waits before the next attempt; a device that is online again need not wait for the rest. */
function pause(attempt, response, signal) {
  const asked = 1000 * Number(response?.headers.get("Retry-After")) || 0;
  const usual = PAUSES[Math.min(attempt, PAUSES.length - 1)] * (0.75 + Math.random() / 2);
  return new Promise((resume, stop) => {
    const over = () => {
      clearTimeout(timer);
      removeEventListener("online", go);
      signal?.removeEventListener("abort", leave);
    };
    const go = () => (over(), resume());
    const leave = () => (over(), stop(signal.reason));
    const timer = setTimeout(go, Math.min(Math.max(asked, usual), 30000));
    addEventListener("online", go);
    signal?.addEventListener("abort", leave);
  });
}

const troubles = new Map();

/** Says what is wrong with something, until null is said of the same: no other answer ends it.
 * Of several troubles the latest is told. */
export function trouble(about, what) {
  if (!what && !troubles.has(about)) return;
  troubles.delete(about);
  if (what) troubles.set(about, what);
  tell("trouble", [...troubles.values()].at(-1) ?? null);
}

function tell(type, detail) {
  status.dispatchEvent(new CustomEvent(type, { detail }));
}
