// What the cores were used for in the last slots, newest at the right. However many cores there are, the box scrolls.

import { $, attribute, count, el, text } from "./dom.js";
import { now, parts } from "./live.js";

const SLOTS = 48;
// So many rows have room at full height; more are drawn lower.
const ROWS_HIGH = 3;
const rows = [];
let drawn = [];

export function start() {
  const kinds = [["ours", "ours"], ["again", "ours, a later version"], ["other", "somebody else's"], ["free", "free"], ["none", "no block"]];
  const legend = el("p", { class: "legend" }, ...kinds.map(([kind, words]) => el("span", { class: kind }, words)));
  $("cores").append(el("div", { id: "core-rows", tabindex: "0", role: "group", "aria-label": "Cores" }), legend);
  setInterval(draw, 500);
}

function row(core) {
  const cells = [...Array(SLOTS)].map(() => el("i"));
  const box = el("div", { class: "core-cells", role: "img" }, ...cells);
  const item = el("div", { class: "core-row" }, el("span", {}, `core ${core}`), box);
  $("core-rows").append(item);
  return { item, box, cells };
}

function use(cores, core, slot, oldest, newest) {
  if (!cores && slot < oldest) return ["unknown", `slot ${slot}: before this node looked`];
  if (!cores) return slot > newest ? ["unknown", `slot ${slot}: not yet`] : ["none", `slot ${slot}: no block`];
  const used = cores[core];
  if (used === 0) return ["free", `slot ${slot}: free`];
  if (used === 1) return ["other", `slot ${slot}: somebody else's report`];
  const [block, version] = used;
  return [version > 1 ? "again" : "ours", `slot ${slot}: B-${block}, version ${version}`];
}

export function draw() {
  const node = parts.get("node");
  const slots = parts.get("slots");
  if (!node || !slots) return;
  const bySlot = new Map(slots);
  const newest = slots.length ? slots[slots.length - 1][0] : 0;
  // The very first slot of a chain is long ago.
  const oldest = slots.find(([slot]) => slot > newest - 10 * SLOTS)?.[0] ?? newest;
  const last = Math.max(newest, Math.floor((now() - node.epochMs) / node.slotMs));
  // Hundreds of cores are thousands of cells: they are looked at only when something is new.
  if (drawn[0] === last && drawn[1] === slots && rows.length === node.cores) return;
  drawn = [last, slots];
  while (rows.length < node.cores) rows.push(row(rows.length));
  while (rows.length > node.cores) rows.pop().item.remove();
  attribute($("core-rows"), "data-many", node.cores > ROWS_HIGH);
  rows.forEach(({ box, cells }, core) => {
    let ours = 0;
    cells.forEach((cell, place) => {
      const slot = last - SLOTS + 1 + place;
      const [kind, words] = use(bySlot.get(slot), core, slot, oldest, newest);
      ours += kind === "ours" || kind === "again";
      attribute(cell, "data-use", kind);
      attribute(cell, "title", words);
    });
    attribute(box, "aria-label", `Core ${core}: ours in ${ours} of the last ${SLOTS} slots`);
  });
  text($("cores-note"), `one box for each slot, to ${count(last)}`);
}
