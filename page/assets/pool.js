// The pool: how full it is, what it refused and why, and how transactions ended.

import { $, bytes, count, el, fill, text } from "./dom.js";
import { parts } from "./live.js";

const METERS = [
  ["Pending", (pool, node) => [pool.pending, node.pendingMax, count]],
  ["Queued", (pool, node) => [pool.queued, node.queuedMax, count]],
  ["Bytes", (pool, node) => [pool.bytes, node.poolBytesMax, bytes]],
];
const ENDS = ["replaced", "evicted", "expired", "dropped", "returned"];

const meters = METERS.map(([name]) => {
  const bar = el("i");
  const value = el("span", {}, "–");
  return { item: el("div", { class: "meter" }, el("span", {}, name), el("span", { class: "bar" }, bar), value), bar, value };
});
const refused = el("tbody");
const ended = el("tbody");
const senders = el("h3", {}, "");

export function start() {
  const table = (title, body) => el("div", {}, title, el("div", { class: "rows", tabindex: "0", role: "group", "aria-label": title.textContent || "Others" }, el("table", {}, body)));
  const split = el("div", { class: "split" }, table(el("h3", {}, "Refused, by reason"), refused), table(senders, ended));
  $("pool").append(...meters.map(({ item }) => item), split);
}

// Rows of a name and a number, changed where they differ.
function rows(body, wanted, none) {
  const shown = wanted.length ? wanted : [[none, ""]];
  while (body.rows.length > shown.length) body.deleteRow(-1);
  shown.forEach(([name, value], place) => {
    const row = body.rows[place] ?? body.appendChild(el("tr", {}, el("td"), el("td")));
    text(row.cells[0], name);
    text(row.cells[1], value);
  });
}

export function draw() {
  const [node, pool, why] = [parts.get("node"), parts.get("pool"), parts.get("refused")];
  METERS.forEach(([, read], place) => {
    const [value, most, show] = read(pool, node);
    fill(meters[place].bar, value / most);
    text(meters[place].value, `${show(value)} of ${show(most)}`);
  });
  const reasons = Object.entries(why).sort((a, b) => b[1] - a[1]);
  rows(refused, reasons.map(([name, value]) => [name.replaceAll("_", " "), count(value)]), "nothing yet");
  text(senders, `${count(pool.senders)} senders`);
  const numbers = [["in blocks, not final", pool.bundled], ["accepted", pool.totals.added], ["final", pool.totals.finalized]];
  rows(ended, [...numbers, ...ENDS.map((name) => [name, pool.totals[name]])].map(([name, value]) => [name, count(value)]), "");
}
