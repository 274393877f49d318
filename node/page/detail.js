// One transaction's whole way, or one bundle, in a drawer. Its address can be shared.

import { $, bytes, clock, count, duration, el, short, text } from "./dom.js";
import { call, parts } from "./live.js";

// What is shown: { kind: "tx" | "bundle", id }, or nothing.
let shown = null;
let asked = 0;
let drawn = "";

const path = ({ kind, id }) => `/${kind}/${id}`;

// What an address shows.
function wanted() {
  const found = location.pathname.match(/^\/(tx|bundle)\/([^/]+)$/);
  return found ? { kind: found[1], id: decodeURIComponent(found[2]) } : null;
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
  follow();
}

async function copy() {
  await navigator.clipboard?.writeText(location.href).catch(() => {});
  text($("detail-copy"), "Copied");
  setTimeout(() => text($("detail-copy"), "Copy link"), 1500);
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
  const asked = $("find-text").value.trim();
  const bundle = asked.match(/^(?:B-)?(\d{1,15})$/i);
  if (bundle) return show({ kind: "bundle", id: bundle[1] });
  if (/^0x[0-9a-f]{64}$/i.test(asked)) return show({ kind: "tx", id: asked.toLowerCase() });
  text($("find-said"), asked === "" ? "" : "A transaction's hash is 0x and 64 digits; a bundle is B- and a number.");
}

export function show(what) {
  history.pushState(null, "", path(what));
  follow();
}

function follow() {
  shown = wanted();
  drawn = "";
  if (!shown) return $("detail").open && $("detail").close();
  text($("detail-title"), shown.kind === "tx" ? "Transaction" : `Bundle B-${shown.id}`);
  document.title = `${shown.kind === "tx" ? short(shown.id) : `B-${shown.id}`} · Pectin`;
  $("detail-body").replaceChildren(el("p", { class: "note" }, "asking the node …"));
  if (!$("detail").open) {
    $("detail").showModal();
    $("detail-title").focus();
  }
  refresh();
}

// Asks again; to be called when something changed.
export async function refresh() {
  if (!shown || !parts.has("node")) return;
  const [mine, what] = [++asked, shown];
  let answer = null;
  let failed = null;
  try {
    answer = what.kind === "tx" ? await call("builder_transaction", what.id) : await call("builder_bundle", Number(what.id));
  } catch (error) {
    failed = error.message;
  }
  if (mine !== asked || what !== shown) return;
  const key = JSON.stringify([answer, failed]);
  if (key === drawn) return;
  drawn = key;
  const content = answer === null ? [unknown(what, failed)] : what.kind === "tx" ? transaction(answer) : bundle(answer);
  $("detail-body").replaceChildren(...content);
}

function unknown(what, failed) {
  const words = what.kind === "tx" ? "This node does not know this transaction: it was never accepted here, or ended long ago." : "This bundle is not here: it was never built, or is final since long.";
  return el("p", {}, failed ?? words);
}

function pairs(all) {
  const rows = all.filter(([, value]) => value !== null && value !== undefined);
  return el("dl", { class: "rows" }, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

// Steps of a way, each with its time and how long it took.
function way(steps) {
  let before = null;
  const item = ([name, at, words, state]) => {
    const took = at !== null && before !== null ? ` +${duration(at - before)}` : "";
    before = at ?? before;
    const done = state ?? (at === null ? "false" : "true");
    return el("li", { "data-done": done }, el("b", {}, name), el("time", {}, at === null ? "" : `${clock(at)}${took}`), words ? el("small", {}, words) : null);
  };
  return el("ol", { class: "way" }, ...steps.map(item));
}

function transaction(tx) {
  const times = tx.times ?? {};
  const block = tx.block ? Number(tx.block.number) : null;
  const at = (name) => times[name] ?? null;
  const passed = (states) => (states.includes(tx.status) ? "true" : null);
  const versions = tx.bundle?.versions ?? [];
  const sent = versions.map((version) => `v${version.version} on core ${version.core}, sent ${version.sends}×${version.counted ? ", failed" : ""}`).join("; ");
  const steps = tx.ended
    ? [["Accepted", tx.since ?? null, "", "true"], ["Ended", tx.ended.at, tx.ended.reason, "bad"]]
    : [
        ["Accepted", tx.since ?? null, tx.attempts ? `${tx.attempts} blocks with it were given up` : tx.status === "queued" ? "queued: a nonce before it is missing, or the sender cannot pay yet" : "durable, in the pool", "true"],
        ["Sealed", at("sealed"), block === null ? (tx.status === "open" ? "executed in the open block" : "") : `in block ${count(block)}, at place ${tx.index}`, passed(["bundled", "applied", "finalized"])],
        ["Submitted", at("submitted"), sent],
        ["Guaranteed", at("guaranteed"), "validators have executed the block too", passed(["applied", "finalized"])],
        ["Accumulated", at("accumulated"), "the service has applied the block", passed(["applied", "finalized"])],
        ["Final", at("finalized"), "nothing undoes it", passed(["finalized"])],
      ];
  return [
    el("p", { class: "mono hash" }, tx.hash),
    el("p", { class: "status" }, el("b", {}, tx.status)),
    way(steps),
    tx.bundle ? el("p", {}, el("a", { href: `/bundle/${block}` }, `Bundle B-${block}`)) : null,
    tx.bundle ? versionTable(versions) : null,
  ].filter(Boolean);
}

function versionTable(versions) {
  const heads = ["Version", "Core", "Anchor", "Sent at", "Sends", "Taken", "Failed", "Package"];
  const cells = (version) => [
    `v${version.version}`, version.core, count(version.anchorHeight), clock(version.sentAt), version.sends, version.taken ? "yes" : "no", version.counted ? "yes" : "no", short(version.packageHash),
  ];
  const rows = versions.map((version) => el("tr", {}, ...cells(version).map((value) => el("td", {}, String(value)))));
  const none = el("tr", {}, el("td", { colspan: heads.length }, "not sent yet"));
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...heads.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, ...(rows.length ? rows : [none])));
  return el("div", { class: "versions", tabindex: "0", role: "group", "aria-label": "Versions" }, el("h3", {}, "Versions"), table);
}

function bundle(found) {
  const node = parts.get("node");
  const { times, sizes } = found;
  const steps = ["sealed", "submitted", "guaranteed", "accumulated", "finalized"].map((name) => [name[0].toUpperCase() + name.slice(1), times[name] ?? null, ""]);
  if (times.released) steps.push(["Released", times.released, "its transactions are back in the pool", "bad"]);
  const of = (value, most) => `${bytes(value)} of ${bytes(most)}, ${((100 * value) / most).toFixed(1)} %`;
  const list = found.transactions.map((hash) => el("a", { class: "mono", href: `/tx/${hash}` }, hash));
  return [
    pairs([
      ["State", found.state],
      ["Block", el("span", { class: "mono" }, found.block.hash)],
      ["Parent", el("span", { class: "mono" }, found.parent.hash)],
      ["Bundle", sizes && of(sizes.bundleBytes, node.bundleBytesMax)],
      ["Witness", sizes && bytes(sizes.witnessBytes)],
      ["Gas", sizes && `${count(sizes.gas)} of ${count(node.gasMax)}`],
    ]),
    found.whySlow ? el("p", { class: "said" }, found.whySlow) : null,
    way(steps),
    versionTable(found.versions),
    el("h3", {}, `${count(found.transactionCount)} transactions`),
    el("div", { class: "list" }, ...list),
  ].filter(Boolean);
}
