// One transaction's whole way, or one bundle, in a drawer. Its address can be shared.

import { blockOf, bundle, speak, transaction } from "./contents.js";
import { $, el, short, text } from "./dom.js";
import { bundles, call, parts } from "./live.js";

const SAID_MS = 1500;
const HASH = /^0x[0-9a-f]{64}$/i;
const BUNDLE = /^(?:B-)?(\d{1,15})$/i;
const UNREADABLE = "A transaction's hash is 0x and 64 digits; a bundle is B- and a number.";

// What is shown: { kind: "tx" | "bundle", id }, or nothing. Without an id the address cannot be read.
let shown = null;
let asked = 0;
let drawn = "";
// The block that what is shown is about.
let block = null;

const path = ({ kind, id }) => `/${kind}/${id}`;

// What somebody means who writes this; `null` if that is nothing.
function meant(kind, words) {
  const number = kind === "bundle" && words.match(BUNDLE);
  if (number) return { kind, id: String(Number(number[1])) };
  return { kind, id: HASH.test(words) ? words.toLowerCase() : null };
}

// What an address shows.
function wanted() {
  const found = location.pathname.match(/^\/(tx|bundle)\/(.*)$/);
  return found ? meant(found[1], found[2]) : null;
}

export function start() {
  addEventListener("popstate", follow);
  $("detail").addEventListener("close", () => {
    if (!shown) return;
    shown = null;
    history.pushState(null, "", "/");
    document.title = "Pectin";
  });
  $("detail").addEventListener("click", (event) => event.target === $("detail") && $("detail").close());
  $("detail-close").addEventListener("click", () => $("detail").close());
  $("detail-copy").addEventListener("click", copy);
  $("detail-body").addEventListener("click", goInside);
  $("find").addEventListener("submit", find);
  $("find-text").addEventListener("input", () => text($("find-said"), ""));
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, dialog")) return;
    event.preventDefault();
    $("find-text").focus();
  });
  setInterval(() => shown && speak(block), 500);
  follow();
}

// A browser lets scripts copy only where it trusts the connection; elsewhere the address is there to be copied by hand.
async function copy() {
  try {
    await navigator.clipboard.writeText(location.href);
  } catch {
    $("detail-address").value = location.href;
    $("detail-by-hand").hidden = false;
    $("detail-address").select();
    return;
  }
  text($("detail-copy"), "Copied");
  setTimeout(() => text($("detail-copy"), "Copy link"), SAID_MS);
}

// Links between transactions and bundles stay in the drawer.
function goInside(event) {
  const link = event.target.closest("a[href^='/']");
  if (!link || event.metaKey || event.ctrlKey) return;
  event.preventDefault();
  history.pushState(null, "", link.getAttribute("href"));
  follow();
}

function find(event) {
  event.preventDefault();
  const words = $("find-text").value.trim();
  const what = meant(BUNDLE.test(words) ? "bundle" : "tx", words);
  if (what.id !== null) return show(what);
  text($("find-said"), words === "" ? "" : UNREADABLE);
}

export function show(what) {
  history.pushState(null, "", path(what));
  follow();
}

function title({ kind, id }) {
  if (kind === "tx") return ["Transaction", id === null ? "Transaction" : short(id)];
  const name = id === null ? "" : HASH.test(id) ? ` ${short(id)}` : ` B-${id}`;
  return [`Bundle${name}`, name.trim() || "Bundle"];
}

function follow() {
  shown = wanted();
  [drawn, block] = ["", null];
  $("detail-by-hand").hidden = true;
  if (!shown) return $("detail").open && $("detail").close();
  const [head, tab] = title(shown);
  text($("detail-title"), head);
  document.title = `${tab} · Pectin`;
  $("detail-body").replaceChildren(el("p", { class: "note" }, shown.id === null ? UNREADABLE : "asking the node …"));
  if (!$("detail").open) {
    $("detail").showModal();
    $("detail-title").focus();
  }
  refresh();
}

function question({ kind, id }) {
  if (kind === "tx") return call("builder_transaction", id);
  return call("builder_bundle", HASH.test(id) ? id : Number(id));
}

// Asks again; to be called when something changed.
export async function refresh() {
  if (!shown || shown.id === null || !parts.has("node")) return;
  const [mine, what] = [++asked, shown];
  let answer = null;
  let failed = null;
  try {
    answer = await question(what);
  } catch (error) {
    failed = error.message;
  }
  if (mine !== asked || what !== shown) return;
  // Why it is slow is said anew all the time, and not by drawing everything anew.
  const { whySlow, ...rest } = answer ?? {};
  const key = JSON.stringify([answer && rest, failed]);
  if (key !== drawn) {
    drawn = key;
    block = answer && blockOf(answer);
    if (answer?.name) text($("detail-title"), `Bundle ${answer.name}`);
    put(answer === null ? [unknown(what, failed)] : what.kind === "tx" ? transaction(answer) : bundle(answer));
  }
  speak(block);
}

// Replaces what is shown. Whoever stands on something that is still there stays on it.
function put(content) {
  const body = $("detail-body");
  const name = (node) => node?.getAttribute("href") ?? node?.getAttribute("aria-label");
  const held = body.contains(document.activeElement) ? name(document.activeElement) : null;
  body.replaceChildren(...content);
  const again = held && [...body.querySelectorAll("a, [tabindex]")].find((node) => name(node) === held);
  if (again) again.focus({ preventScroll: true });
}

function unknown(what, failed) {
  const waits = what.kind === "bundle" ? bundles().find(({ formed, number, last, hash }) => !formed && (hash === what.id || (number <= what.id && what.id <= last))) : null;
  if (waits) return el("p", {}, `Blocks ${waits.number} to ${waits.last} are sealed, and in no bundle yet. A bundle is formed when the next window opens: it takes as many of them as a package holds.`);
  const words = what.kind === "tx" ? "This node does not know this transaction: it was never accepted here, or ended long ago." : "This bundle is not here: it was never built, or is final since long.";
  return el("p", {}, failed ?? words);
}
