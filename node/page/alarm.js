// What the operator must know whatever they look at: it lies over the page.

import { $, text } from "./dom.js";
import { parts, refusal } from "./live.js";

export function draw() {
  const heads = parts.get("heads") ?? {};
  const why = refusal();
  const words = [
    why && `This page is not kept up to date, the node says: ${why}. It asks again every few seconds.`,
    heads.halted && `Building stopped: ${heads.halted}.`,
    heads.trouble && `Nothing can be written: ${heads.trouble}.`,
    heads.paused && "Building is paused by the operator.",
    heads.syncing && "The node still catches up with JAM.",
  ].filter(Boolean).join(" ");
  text($("alarm"), words);
  $("alarm").hidden = words === "";
}
