// The node in numbers.

import { $, attribute, count, duration, el, text } from "./dom.js";
import { isBecause, now, parts } from "./live.js";

// Name, value, what it means; and whether it is as it should be, where that is a question.
const FIGURES = [
  ["Sealed", ({ heads }) => [count(heads.latest.number), `${count(heads.openTransactions)} in the open block`]],
  ["Applied", ({ heads }) => [count(heads.safe.number), "by the service, at JAM's best block"]],
  ["Final", onTheirWay],
  ["JAM's best slot", bestSlot],
  ["Finality", ({ heads }) => [`${count(heads.lagBlocks)} behind`, `final slot ${count(heads.finalSlot)}`, isBecause("finality_lags") ? "bad" : null]],
  ["Validators", ({ heads, node }) => [`${heads.peers} of ${node.validators}`, "connected", isBecause("no_validators", "no_guarantors", "few_guarantors") ? "bad" : null]],
  ["Executed twice", ({ totals }) => [count(totals.executedTwice), "transactions; must be 0", totals.executedTwice ? "bad" : "good"]],
  ["Windows missed", ({ totals }) => [count(totals.windowsMissed), "this node was too late for", totals.windowsMissed ? "bad" : "good"]],
  ["Guarantee timeouts", ({ totals, node }) => [count(totals.timeouts), `no guarantee arrived within ${duration(node.guaranteeTimeoutMs)}`]],
  ["Packages", ({ totals }) => [count(totals.packages), `built, ${count(totals.sends)} times sent`]],
  ["Second guarantees", ({ totals }) => [count(totals.duplicateGuarantees), "harmless; applied once"]],
  ["Releases", ({ totals }) => [count(totals.releases), "blocks back to the pool"]],
];

// Building waits when what is sealed and not sent takes as much as may wait.
function onTheirWay({ heads }) {
  const isFull = heads.fullness >= 1;
  const room = heads.fullness >= 0.01 ? `, ${Math.floor(100 * heads.fullness)} % of the room` : "";
  const words = isFull ? `${count(heads.unfinished)} blocks on their way, no room for more: building waits` : `${count(heads.unfinished)} blocks on their way${room}`;
  return [count(heads.finalized.number), words, isFull ? "bad" : null];
}

function bestSlot({ heads, node }) {
  const slot = Math.floor((now() - node.epochMs) / node.slotMs);
  // A chain's first slot lies years back.
  const behind = !heads.bestSlot ? null : Math.max(0, slot - heads.bestSlot);
  const words = isBecause("journal_stalled") ? "when the journal was last written" : behind === null ? "no block yet" : behind < 2 ? "blocks arrive" : `no block for ${count(behind)} slots, ${duration(behind * node.slotMs)}`;
  return [count(heads.bestSlot), words, isBecause("jam_silent", "catching_up") ? "bad" : null];
}

const boxes = FIGURES.map(([name]) => {
  const value = el("dd", {}, "–");
  const words = el("dd", {}, "");
  return { box: el("div", {}, el("dt", {}, name), value, words), value, words };
});

export function start() {
  $("figures").append(...boxes.map(({ box }) => box));
  setInterval(draw, 500);
}

export function draw() {
  const known = { node: parts.get("node"), heads: parts.get("heads"), totals: parts.get("totals") };
  if (!known.heads) return;
  FIGURES.forEach(([, read], place) => {
    const [value, words, tone] = read(known);
    text(boxes[place].value, value);
    text(boxes[place].words, words);
    attribute(boxes[place].box, "class", tone ?? null);
  });
}
