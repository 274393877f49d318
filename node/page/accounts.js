// The sender's managed accounts, if this node has a sender that answers.

import { $, count, el } from "./dom.js";

const EVERY_MS = 3000;

export function start() {
  load();
}

async function load() {
  // TODO
}
