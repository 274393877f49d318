// The lanes: each bundle is a card that keeps its place in the document while it moves on.

import { $, attribute, count, duration, el, text } from "./dom.js";
import { glide, places } from "./flights.js";
import { bundles, now, parts } from "./live.js";

const LANES = ["Queued", "Submitted", "Guaranteed", "Accumulated", "Finalized"];
const cards = new Map();
const lanes = new Map();
let open = () => {};

export function start(openBundle) {
  open = openBundle;
  for (const state of LANES) {
    const many = el("span", {}, "0");
    const list = el("ul", { "aria-label": state });
    const empty = el("li", { class: "empty" }, "none");
    list.append(empty);
    const lane = el("div", { class: "lane", "data-state": state }, el("h3", {}, state, many), list);
    lanes.set(state, { list, many, empty });
    $("lane-grid").append(lane);
  }
  $("lane-grid").addEventListener("keydown", step);
  setInterval(age, 200);
}

// Arrow keys go from card to card: up and down within a lane, left and right between lanes.
function step(event) {
  const card = event.target.closest(".card");
  const move = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
  if (!card || !move) return;
  event.preventDefault();
  const all = LANES.map((state) => [...lanes.get(state).list.querySelectorAll(".card")]);
  let column = all.findIndex((lane) => lane.includes(card));
  const row = all[column].indexOf(card) + move[1];
  if (move[0]) do column += move[0]; while (all[column] && all[column].length === 0);
  const lane = all[column];
  lane?.[Math.max(0, Math.min(row, lane.length - 1))]?.focus();
}

function make(key) {
  const life = el("span", { class: "life", "aria-hidden": "true" });
  const shown = {
    name: el("b"), transactions: el("small"), age: el("small", { class: "age" }), how: el("small", { class: "how" }), life,
  };
  const lines = [[shown.name, shown.transactions, shown.age], [shown.how, life]];
  const button = el("button", { class: "card", type: "button" }, ...lines.map((line) => el("span", {}, ...line)));
  button.addEventListener("click", () => open(cards.get(key).bundle));
  return { ...shown, button, item: el("li", {}, button), bundle: null };
}

function howText(bundle, node) {
  if (!bundle.formed) return "takes blocks until its window";
  if (bundle.state === "Queued" && bundle.sends === 0) return "waits for its first window";
  // Whatever failed was sent again, too.
  const again = bundle.failed ? `failed ${bundle.failed} of ${node.retriesMax}` : bundle.sends > 1 ? `sent ${bundle.sends}×` : null;
  const core = bundle.core === null ? null : `core ${bundle.core}`;
  return [again, `v${bundle.version}`, core].filter(Boolean).join(" · ");
}

function drawCard(card, bundle, node) {
  card.bundle = bundle;
  text(card.name, `B-${bundle.number}`);
  text(card.transactions, bundle.blocks > 1 ? `${count(bundle.blocks)} blocks, ${count(bundle.transactions)} tx` : `${count(bundle.transactions)} tx`);
  text(card.how, howText(bundle, node));
  attribute(card.how, "class", bundle.sends > 1 ? "how again" : "how");
  attribute(card.button, "data-slow", bundle.why !== null);
  const shown = bundle.life !== null && ["Queued", "Submitted"].includes(bundle.state);
  while (shown && card.life.childElementCount < node.history) card.life.append(el("i"));
  card.life.hidden = !shown;
  [...card.life.children].forEach((pip, place) => attribute(pip, "class", place < bundle.life ? "on" : null));
  attribute(card.life, "data-low", bundle.life < node.anchorMargin);
  attribute(card.button, "title", hint(bundle, shown, node));
  attribute(card.button, "aria-label", label(bundle, shown, node));
}

function hint(bundle, shown, node) {
  const life = shown ? `its anchor lives for ${bundle.life} of ${node.history} blocks` : "";
  const waits = bundle.givesUpAt === null ? "" : `its guarantee is waited for ${duration(node.guaranteeTimeoutMs)}`;
  const blocks = bundle.blocks > 1 ? `blocks ${bundle.number} to ${bundle.last}` : "";
  return [blocks, life, waits].filter(Boolean).join("; ") || null;
}

function label(bundle, shown, node) {
  const life = shown ? `, its anchor lives for ${bundle.life} of ${node.history} blocks` : "";
  const slow = bundle.why === null ? "" : ", slow";
  return `Bundle B-${bundle.number}, ${bundle.blocks} ${bundle.blocks === 1 ? "block" : "blocks"}, ${bundle.transactions} transactions, ${howText(bundle, node)}${life}${slow}`;
}

// Bundles that are requeued return to their lane whether there is room or not; the limit is for new ones.
function countText(many, limit) {
  if (!limit) return many;
  return many > limit ? `${many} (limit for new: ${limit})` : `${many} of ${limit}`;
}

// Next to go first; of the final ones the newest.
function order(state, list) {
  const up = state === "Finalized" ? -1 : 1;
  return list.sort((a, b) => up * (a.number - b.number));
}

export function draw() {
  const node = parts.get("node");
  const all = bundles();
  const before = places(cards);
  const focused = document.activeElement;
  const seen = new Set();
  for (const state of LANES) {
    const lane = lanes.get(state);
    const here = order(state, all.filter((bundle) => bundle.state === state));
    const limit = { Submitted: node.inflightMax }[state];
    text(lane.many, state === "Finalized" ? "newest" : countText(here.length, limit));
    attribute(lane.many, "title", here.length > limit ? `${here.length} are here; ${limit} is the limit for new ones. Those that come back are not turned away.` : null);
    lane.empty.hidden = here.length > 0;
    let place = lane.empty;
    for (const bundle of here) {
      seen.add(bundle.key);
      const card = cards.get(bundle.key) ?? make(bundle.key);
      cards.set(bundle.key, card);
      drawCard(card, bundle, node);
      if (place.nextSibling !== card.item) place.after(card.item);
      place = card.item;
    }
  }
  for (const [key, card] of cards) {
    if (seen.has(key)) continue;
    card.item.remove();
    cards.delete(key);
  }
  if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true });
  glide(before, cards);
  drawGivenUp(all);
  age();
}

// How long a bundle has been in its state, and how long its guarantee is still waited for.
function age() {
  for (const { bundle, age: shown } of cards.values()) {
    const since = bundle.state === "Finalized" ? null : now() - (bundle.since ?? bundle.sealedAt);
    const left = bundle.givesUpAt === null ? "" : `, ${duration(bundle.givesUpAt - now())} left`;
    text(shown, since === null ? "" : `${duration(since)}${left}`);
  }
}

// Abandoned and released bundles stand below the lanes. Of the abandoned ones the lowest is why all the others are; it comes
// first, and those that have no room are counted.
const GIVEN_UP_MAX = 8;

function drawGivenUp(all) {
  const abandoned = all.filter(({ state }) => state === "Abandoned").sort((a, b) => a.number - b.number);
  const released = all.filter(({ state }) => state === "Released").sort((a, b) => b.sealedAt - a.sealedAt);
  const shown = abandoned.slice(0, GIVEN_UP_MAX);
  const more = abandoned.length - shown.length;
  const last = released.slice(0, GIVEN_UP_MAX - shown.length);
  const key = [...shown, ...last].map((bundle) => `${bundle.key}${bundle.state}`).join() + more;
  const box = $("given-up");
  if (box.dataset.key === key) return;
  box.dataset.key = key;
  const button = (bundle) => {
    const made = el("button", { type: "button", "data-state": bundle.state }, `B-${bundle.number} ${bundle.state.toLowerCase()}`);
    made.addEventListener("click", () => open(bundle));
    return made;
  };
  const [culprit, ...others] = shown.map(button);
  const stand = others.length ? el("span", {}, `and ${abandoned.length - 1} that stand on it:`) : null;
  const rest = more ? el("span", { id: "given-up-more" }, `and ${more} more`) : null;
  const words = shown.length + last.length ? "Given up:" : "No bundle was given up.";
  box.replaceChildren(...[el("span", {}, words), culprit, stand, ...others, rest, ...last.map(button)].filter(Boolean));
}

// The sentences for slow bundles.
const rows = new Map();

export function drawSlow() {
  const slow = bundles().filter((bundle) => bundle.why !== null).sort((a, b) => a.number - b.number);
  const list = $("slow");
  const keys = new Set(slow.map((bundle) => bundle.key));
  for (const [key, row] of rows) {
    if (keys.has(key)) continue;
    row.item.remove();
    rows.delete(key);
  }
  let none = list.querySelector(".none");
  if (!none) list.append((none = el("li", { class: "none" }, "No bundle is slower than usual.")));
  none.hidden = slow.length > 0;
  let place = none;
  for (const bundle of slow) {
    const row = rows.get(bundle.key) ?? slowRow(bundle);
    rows.set(bundle.key, row);
    text(row.state, bundle.state);
    text(row.words, bundle.why);
    if (place.nextSibling !== row.item) place.after(row.item);
    place = row.item;
  }
}

function slowRow(bundle) {
  const name = el("button", { type: "button" }, `B-${bundle.number}`);
  name.addEventListener("click", () => open(bundle));
  const state = el("span", { class: "state" });
  const words = el("p");
  return { item: el("li", {}, name, state, words), state, words };
}
