// Whether the node does its work. The node judges that, the same way as /readyz; here it is the pill, and why it is not well
// and what to do lies over the page. That shows by itself when the node is not ready, and goes and comes with the pill.

import { $, attribute, el, text } from "./dom.js";
import { parts, refusal, state } from "./live.js";

const LINKS = { lost: "reconnecting", refused: "refused", waiting: "connecting" };
const LEVELS = { ok: "live", degraded: "degraded", unready: "not ready" };
// What the operator wants to see, until there are other reasons.
let wanted = null;
let known = "";

export function start() {
  $("link").addEventListener("click", () => {
    wanted = $("alarm").hidden;
    draw();
  });
}

function reasons() {
  const why = refusal();
  const own = why && { level: "unready", text: `This page is not kept up to date, the node says: ${why}.`, action: "It asks again every few seconds." };
  return [own, ...(parts.get("health")?.reasons ?? [])].filter(Boolean);
}

export function draw() {
  const all = reasons();
  const level = all.some((reason) => reason.level === "unready") ? "unready" : all.length ? "degraded" : "ok";
  drawPill(level, all);
  const key = all.map(({ code }) => code).join();
  if (key !== known) [known, wanted] = [key, null];
  const shown = wanted ?? level === "unready";
  drawReasons(level, all);
  $("alarm").hidden = !shown;
  attribute($("link"), "aria-expanded", shown);
}

function drawPill(level, all) {
  const pill = $("link");
  attribute(pill, "data-state", state());
  attribute(pill, "data-level", state() === "live" ? level : null);
  text(pill, LINKS[state()] ?? LEVELS[level]);
  attribute(pill, "title", all.map((reason) => reason.text).join("\n") || null);
}

// Words between backticks are commands or names.
function written(words) {
  return words.split("`").map((part, place) => (place % 2 ? el("code", {}, part) : part));
}

// Sentences speak of slots and change; what is there is changed in place, so that nobody who reads is disturbed.
function drawReasons(level, all) {
  const box = $("alarm");
  const rows = all.length ? all : [{ level: "ok", text: "The node builds and submits; nothing is wrong.", action: "" }];
  attribute(box, "data-level", level);
  while (box.childElementCount > rows.length) box.lastElementChild.remove();
  while (box.childElementCount < rows.length) box.append(el("p", {}, el("b"), " ", el("span")));
  rows.forEach((reason, place) => {
    const [sentence, action] = box.children[place].children;
    text(sentence, reason.text);
    if (action.dataset.words !== reason.action) action.replaceChildren(...written(reason.action));
    action.dataset.words = reason.action;
  });
}
