// How large the newest blocks came out, against what is allowed. A witness has no limit of its own: it shares the bundle's
// with codes and transactions.

import { $, bytes, count, el, fill, text } from "./dom.js";
import { parts } from "./live.js";

const HEADS = ["Block", "Transactions", "Gas", "Witness", "Codes", "Bundle", "Exports"];
const body = el("tbody");

function of() {
  const bar = el("i");
  const value = el("span");
  const cell = el("td", { class: "of" }, el("div", { class: "cell" }, el("span", { class: "bar" }, bar), value));
  return { cell, bar, value };
}

function row() {
  const [gas, witness, bundle] = [of(), of(), of()];
  const plain = ["block", "transactions", "codes", "exports"].map((name) => [name, el("td")]);
  const made = { gas, witness, bundle, ...Object.fromEntries(plain) };
  made.item = el("tr", {}, made.block, made.transactions, gas.cell, witness.cell, made.codes, bundle.cell, made.exports);
  body.append(made.item);
  return made;
}

const rows = [];

export function start() {
  const heads = HEADS.map((name) => el("th", { scope: "col" }, name));
  $("sizes").append(el("thead", {}, el("tr", {}, ...heads)), body);
}

export function draw() {
  const node = parts.get("node");
  const sizes = parts.get("sizes");
  while (rows.length < sizes.length) rows.push(row());
  while (rows.length > sizes.length) rows.pop().item.remove();
  sizes.forEach(([block, witness, codes, , bundle, exports, gas, transactions], place) => {
    const made = rows[place];
    text(made.block, count(block));
    text(made.transactions, count(transactions));
    text(made.codes, bytes(codes));
    text(made.exports, `${count(exports)} of ${count(node.exportSegmentsMax)}`);
    fill(made.gas.bar, gas / node.gasMax);
    text(made.gas.value, `${((100 * gas) / node.gasMax).toFixed(1)} %`);
    fill(made.witness.bar, witness / node.bundleBytesMax);
    text(made.witness.value, bytes(witness));
    fill(made.bundle.bar, bundle / node.bundleBytesMax);
    text(made.bundle.value, bytes(bundle));
  });
  const head = $("sizes").tHead.rows[0];
  text(head.cells[2], `Gas, of ${count(node.gasMax / 1e6)} M`);
  text(head.cells[3], `Witness, of the bundle's ${bytes(node.bundleBytesMax)}`);
  text(head.cells[5], `Bundle, of ${bytes(node.bundleBytesMax)}`);
}
