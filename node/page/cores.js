// What the cores were used for in the last slots, newest at the right.

import { $, attribute, count, el, text } from "./dom.js";
import { now, parts } from "./live.js";

const SLOTS = 48;
const ROWS_MAX = 3;
const rows = new Map();

export function start() {
  const kinds = [["ours", "ours"], ["again", "ours, a later version"], ["other", "somebody else's"], ["free", "free"], ["none", "no block"]];
  const legend = el("p", { class: "legend" }, ...kinds.map(([kind, words]) => el("span", { class: kind }, words)));
  $("cores").append(el("div", { id: "core-rows" }), legend);
  setInterval(draw, 500);
}

function row(core) {
  const cells = [...Array(SLOTS)].map(() => el("i"));
  const box = el("div", { class: "core-cells", role: "img" }, ...cells);
  const made = { item: el("div", { class: "core-row" }, el("span", {}, `core ${core}`), box), box, cells };
  $("core-rows").append(made.item);
  return made;
}

// Of many cores those that we used are shown.
function chosen(node, slots) {
  const used = new Set();
  for (const [, cores] of slots) cores.forEach((use, core) => Array.isArray(use) && used.add(core));
  const all = [...Array(node.cores).keys()];
  return all.sort((a, b) => used.has(b) - used.has(a) || a - b).slice(0, ROWS_MAX).sort((a, b) => a - b);
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
  const wanted = chosen(node, slots);
  for (const [core, made] of rows) {
    if (wanted.includes(core)) continue;
    made.item.remove();
    rows.delete(core);
  }
  for (const core of wanted) {
    const made = rows.get(core) ?? row(core);
    rows.set(core, made);
    let ours = 0;
    made.cells.forEach((cell, place) => {
      const slot = last - SLOTS + 1 + place;
      const [kind, words] = use(bySlot.get(slot), core, slot, oldest, newest);
      ours += kind === "ours" || kind === "again";
      attribute(cell, "data-use", kind);
      attribute(cell, "title", words);
    });
    attribute(made.box, "aria-label", `Core ${core}: ours in ${ours} of the last ${SLOTS} slots`);
  }
  const shown = node.cores > wanted.length ? `, ${wanted.length} of ${node.cores} cores` : "";
  text($("cores-note"), `the last ${SLOTS} slots, to ${count(last)}${shown}`);
}
