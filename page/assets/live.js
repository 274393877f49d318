// What the node says: one stream of named parts and log lines. It comes back by itself when the node does.

const LINES_KEPT = 500;
const AGAIN_MS = 2000;

export const parts = new Map();
export const lines = [];
const watchers = [];
const linkWatchers = [];
let build = null;
let linked = "waiting";
let refused = null;
let offsets = [];

// Calls `act` with the names of the parts that changed and the lines that are new, after each message.
export function watch(act) {
  watchers.push(act);
}

export function watchLink(act) {
  linkWatchers.push(act);
}

export const state = () => linked;

export const isLive = () => linked === "live";

// Why the node does not serve the stream, if it said so.
export const refusal = () => refused;

// The node's clock. A message is never younger than it looks, so of the last few the least delayed one counts.
export function now() {
  return Date.now() + (offsets.length ? Math.max(...offsets) : 0);
}

// Whether one of these is a reason why the node is not healthy.
export const isBecause = (...codes) => parts.get("health").reasons.some(({ code }) => codes.includes(code));

export function bundles() {
  const found = [];
  for (const [name, part] of parts) {
    if (/^b\d/.test(name)) found.push({ key: name, ...part });
  }
  return found;
}

function take(message) {
  offsets = [...offsets.slice(-9), message.at - Date.now()];
  if (message.whole) {
    parts.clear();
    lines.length = 0;
  }
  for (const name of message.gone ?? []) parts.delete(name);
  for (const [name, part] of Object.entries(message.set)) parts.set(name, part);
  for (const [number, at, level, text, block] of message.lines) lines.push({ number, at, level, text, block });
  lines.splice(0, Math.max(0, lines.length - LINES_KEPT));
  const node = parts.get("node");
  if (build !== null && node.build !== build) location.reload();
  build = node.build;
  const changed = new Set(Object.keys(message.set));
  for (const act of watchers) act(changed, message);
}

function link(now, why = null) {
  if (now === linked && why === refused) return;
  [linked, refused] = [now, why];
  for (const act of linkWatchers) act();
}

export function start() {
  const source = new EventSource("/page/live");
  source.onmessage = (event) => {
    link("live");
    take(JSON.parse(event.data));
  };
  source.onerror = () => {
    // A browser tries again by itself, unless the answer was a refusal.
    if (source.readyState === EventSource.CLOSED) wasRefused();
    else link("lost");
  };
}

// A stream that is refused does not tell why; the same question asked plainly does.
async function wasRefused() {
  const asked = new AbortController();
  try {
    const response = await fetch("/page/live", { signal: asked.signal });
    if (response.ok) link("lost");
    else link("refused", (await response.text()).trim());
  } catch {
    link("lost");
  }
  asked.abort();
  setTimeout(start, AGAIN_MS);
}

// Asks the node by JSON-RPC.
export async function call(method, ...params) {
  const response = await fetch("/", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const answer = await response.json();
  if (answer.error) throw new Error(answer.error.message);
  return answer.result;
}
