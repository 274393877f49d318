// What the drawer shows of a transaction or a bundle.

import { $, attribute, bytes, clock, count, duration, el, short, text } from "./dom.js";
import { bundles, now, parts } from "./live.js";

const STATES = ["Sealed", "Submitted", "Guaranteed", "Accumulated", "Finalized"];

function pairs(all) {
  const rows = all.filter(([, value]) => value !== null && value !== undefined);
  return el("dl", { class: "rows" }, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

// Steps of a way: name, time, what it means, and whether it is done ("true", "false" or "bad"). What has not happened is
// not explained as if it had, and whoever does not see the colours hears it.
function way(steps) {
  let before = null;
  const item = ([name, at, words, done]) => {
    const took = at !== null && before !== null ? ` +${duration(at - before)}` : "";
    before = at ?? before;
    const isDone = done !== "false";
    const when = el("time", {}, isDone && at !== null ? `${clock(at)}${took}` : "");
    const not = isDone ? null : el("span", { class: "hidden" }, ": not yet");
    return el("li", { "data-done": done }, el("b", {}, name, not), when, isDone && words ? el("small", {}, words) : null);
  };
  return el("ol", { class: "way" }, ...steps.map(item));
}

// Whether a bundle in this state is past a step. A state that is no step of the way, such as Abandoned, says nothing about
// it; then it counts whether it ever was.
function isPast(state, step, times) {
  const reached = state === "Queued" ? 0 : STATES.indexOf(state);
  const wasThere = (times[step.toLowerCase()] ?? null) !== null;
  return String(reached < 0 ? wasThere : STATES.indexOf(step) <= reached);
}

// The first block of the bundle that something is in, if it is in one, or its block.
export const blockOf = (answer) => answer.first?.hash ?? answer.bundle?.first.hash ?? answer.block?.hash ?? null;

// What is said about a block that is on its way; it changes in place.
function said(isOnItsWay) {
  return isOnItsWay ? el("p", { class: "said", id: "detail-slow" }) : null;
}

// Says anew what speaks of time.
export function speak(hash) {
  const [node, found] = [parts.get("node"), bundles().find((bundle) => bundle.hash === hash)];
  if ($("detail-slow")) {
    text($("detail-slow"), found?.why ?? "It is no slower than usual.");
    attribute($("detail-slow"), "data-slow", Boolean(found?.why));
  }
  if (!$("detail-waits")) return;
  const most = duration(node.guaranteeTimeoutMs);
  const left = (found?.givesUpAt ?? null) === null ? null : duration(found.givesUpAt - now());
  text($("detail-waits"), left === null ? "not waited for at the moment" : `waited for ${left} more, of ${most}`);
}

// The steps in blocks that were given up, from a transaction's story.
function givenUp(story) {
  const last = story.map((episode) => episode.event).lastIndexOf("released");
  return story.slice(1, last + 1).map(({ event, at, block, by }) => {
    const place = `block ${count(Number(block.number))} (${short(block.hash)})`;
    if (event === "released") return ["Released", at, `${place}, by the ${by}; back in the pool`, "bad"];
    return [event[0].toUpperCase() + event.slice(1), at, `in ${place}`, "true"];
  });
}

export function transaction(tx) {
  const times = tx.times ?? {};
  const number = tx.block ? Number(tx.block.number) : null;
  const at = (name) => times[name] ?? null;
  // A bundle that is long final is not known any more.
  const state = tx.bundle?.state ?? { finalized: "Finalized", applied: "Accumulated", bundled: "Queued" }[tx.status];
  const past = (step) => (state ? isPast(state, step, times) : "false");
  const versions = tx.bundle?.versions ?? [];
  const sent = versions.map((version) => `v${version.version} on core ${version.core}, sent ${version.sends}×${version.counted ? ", failed" : ""}`).join("; ");
  const accepted = tx.attempts ? `${tx.attempts} blocks failed with it` : tx.status === "queued" ? "queued: a nonce before it is missing, the sender cannot pay yet, or the base fee is above its fee cap" : "durable, in the pool";
  const sealed = number === null ? "" : `in block ${count(number)}, at place ${tx.index}`;
  const before = givenUp(tx.story ?? []);
  const steps = tx.ended
    ? [["Accepted", tx.since ?? null, "", "true"], ...before, ["Ended", tx.ended.at, tx.ended.reason, "bad"]]
    : [
        ["Accepted", tx.since ?? null, tx.status === "open" ? "executed in the open block" : accepted, "true"],
        ...before,
        ["Sealed", at("sealed"), sealed, past("Sealed")],
        ["Submitted", at("submitted"), sent, past("Submitted")],
        ["Guaranteed", at("guaranteed"), "validators have executed the block too", past("Guaranteed")],
        ["Accumulated", at("accumulated"), "the service has applied the block", past("Accumulated")],
        ["Final", at("finalized"), "nothing undoes it", past("Finalized")],
      ];
  return [
    el("p", { class: "mono hash" }, tx.hash),
    el("p", { class: "status" }, el("b", {}, tx.status)),
    tx.bundle ? said(tx.bundle.state !== "Finalized") : null,
    way(steps),
    tx.bundle ? el("p", {}, el("a", { href: `/bundle/${Number(tx.bundle.first.number)}` }, `Bundle ${tx.bundle.name}`)) : null,
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

const many = (number, name) => `${count(number)} ${name}${number === 1 ? "" : "s"}`;

// A bundle may hold thousands; nobody reads them all here.
const LISTED_MAX = 200;

function atMost(list) {
  const more = list.length - LISTED_MAX;
  return more > 0 ? [...list.slice(0, LISTED_MAX), el("span", {}, `and ${count(more)} more`)] : list;
}

// Gas of JAM's virtual machine: what decides how many blocks a package holds.
function refineGas({ estimate, used, max }) {
  const most = `at most ${count(estimate)} of ${count(max)}, ${((100 * estimate) / max).toFixed(1)} %`;
  return used === null ? most : `${most}; ${count(used)} used`;
}

export function bundle(found) {
  const node = parts.get("node");
  const { times } = found;
  const isOnItsWay = !["Finalized", "Released"].includes(found.state);
  const steps = STATES.map((step) => [step, times[step.toLowerCase()] ?? null, "", isPast(found.state, step, times)]);
  if (times.released) steps.push(["Released", times.released, "its transactions are back in the pool", "bad"]);
  const of = (value, most) => `${bytes(value)} of ${bytes(most)}, ${((100 * value) / most).toFixed(1)} %`;
  const failed = found.versions.filter((version) => version.counted).length;
  const sum = (name) => found.blockList.reduce((all, block) => all + (block.sizes?.[name] ?? 0), 0);
  const sizes = found.blockList.every((block) => block.sizes) ? { gas: sum("gas"), bundleBytes: sum("bundleBytes") } : null;
  const blocks = found.blockList.map((block) => el("span", { class: "mono" }, `${count(Number(block.number))} ${short(block.hash)}, ${count(block.transactionCount)} transactions, ${clock(block.sealedAt)}`));
  const list = found.transactions.map((hash) => el("a", { class: "mono", href: `/tx/${hash}` }, hash));
  return [
    pairs([
      ["State", found.state],
      ["Blocks", `${count(found.blocks)}: ${count(Number(found.first.number))} to ${count(Number(found.last.number))}`],
      ["First block", el("span", { class: "mono" }, found.first.hash)],
      ["Last block", el("span", { class: "mono" }, found.last.hash)],
      ["Parent", el("span", { class: "mono" }, found.parent.hash)],
      ["Guarantee", isOnItsWay ? el("span", { id: "detail-waits" }) : null],
      ["Failed versions", `${count(failed)} of ${count(node.retriesMax)}`],
      ["Bundle", sizes && `at most ${of(sizes.bundleBytes, node.bundleBytesMax)}: the sum of its blocks, which share what they touch`],
      ["Gas", sizes && `${count(sizes.gas)} of ${count(node.runGasMax)}`],
      ["Refine gas", found.refineGas && refineGas(found.refineGas)],
    ]),
    said(isOnItsWay),
    way(steps),
    versionTable(found.versions),
    el("h3", {}, many(found.blocks, "block")),
    el("div", { class: "list" }, ...atMost(blocks)),
    el("h3", {}, many(found.transactionCount, "transaction")),
    el("div", { class: "list" }, ...atMost(list)),
  ].filter(Boolean);
}
