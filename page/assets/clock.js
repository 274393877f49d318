// The slot, with the submission window drawn on it. Twelve o'clock is when a slot begins.

import { $, attribute, count, duration, text } from "./dom.js";
import { now, parts } from "./live.js";

const RADIUS = 50;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

function point(part) {
  const angle = 2 * Math.PI * part - Math.PI / 2;
  return `${(60 + RADIUS * Math.cos(angle)).toFixed(2)} ${(60 + RADIUS * Math.sin(angle)).toFixed(2)}`;
}

// The arc between two parts of a slot.
function arc(from, to) {
  return `M ${point(from)} A ${RADIUS} ${RADIUS} 0 ${to - from > 0.5 ? 1 : 0} 1 ${point(to)}`;
}

export function drawWindow(node) {
  const from = 1 - node.windowOpensBeforeMs / node.slotMs;
  const to = 1 - node.windowClosesBeforeMs / node.slotMs;
  attribute($("clock-window"), "d", arc(from, to));
}

function said(node, into) {
  const opens = node.slotMs - node.windowOpensBeforeMs;
  const closes = node.slotMs - node.windowClosesBeforeMs;
  // Slots that are shorter than a glance are not worth counting down.
  if (node.slotMs < 2000) return [`window ${node.windowOpensBeforeMs}–${node.windowClosesBeforeMs} ms before a slot`, false];
  if (into < opens) return [`window opens in ${duration(opens - into)}`, false];
  if (into < closes) return [`window open, ${duration(closes - into)} left`, true];
  return [`window opens in ${duration(node.slotMs - into + opens)}`, false];
}

function tick() {
  const node = parts.get("node");
  if (node) {
    const since = now() - node.epochMs;
    const into = since % node.slotMs;
    text($("clock-slot"), count(Math.floor(since / node.slotMs)));
    if (!calm.matches) $("clock-hand").style.transform = `rotate(${((into / node.slotMs) * 360).toFixed(1)}deg)`;
    const [words, open] = said(node, into);
    text($("clock-said"), words);
    attribute($("clock-said"), "data-open", open);
  }
  // A clock that nobody sees need not run.
  if (document.hidden || calm.matches) setTimeout(tick, 250);
  else requestAnimationFrame(tick);
}

export function start() {
  tick();
}
