// The page: what the node says comes in by one stream; each part of the page draws what it is about.

import * as accounts from "./accounts.js";
import * as clock from "./clock.js";
import * as cores from "./cores.js";
import * as detail from "./detail.js";
import { $, attribute, text } from "./dom.js";
import * as faults from "./faults.js";
import * as figures from "./figures.js";
import * as health from "./health.js";
import * as lanes from "./lanes.js";
import * as live from "./live.js";
import * as log from "./log.js";
import * as pool from "./pool.js";
import * as sizes from "./sizes.js";
import * as theme from "./theme.js";

const has = (changed, ...names) => names.some((name) => changed.has(name));

function draw(changed, message) {
  const node = live.parts.get("node");
  const moved = message.whole || message.gone?.length || [...changed].some((name) => /^b\d/.test(name));
  if (has(changed, "node")) {
    clock.drawWindow(node);
    text($("facts"), `chain ${node.chainId} · service ${node.service} · ${node.validators} validators, ${node.cores} cores · ${node.version}${node.dev ? " · development" : ""}${node.dryRun ? " · dry run" : ""}`);
  }
  if (has(changed, "heads", "totals", "node", "health")) figures.draw();
  if (has(changed, "health")) health.draw();
  if (moved || has(changed, "node")) {
    lanes.draw();
    lanes.drawSlow();
  }
  if (has(changed, "slots", "node")) cores.draw();
  if (has(changed, "pool", "refused", "node")) pool.draw();
  if (has(changed, "sizes", "node")) sizes.draw();
  if (has(changed, "faults")) faults.draw();
  if (has(changed, "accounts")) {
    accounts.draw();
    accounts.ask();
  }
  if (message.lines.length || message.whole) log.draw(Boolean(message.whole));
  attribute(document.querySelector("main"), "data-ready", true);
  if (moved || has(changed, "heads", "pool")) detail.refresh();
}

theme.start();
health.start();
figures.start();
// A released block's number belongs to the block that was built in its place.
lanes.start(({ state, number, hash }) => detail.show({ kind: "bundle", id: state === "Released" ? hash : String(number) }));
cores.start();
pool.start();
sizes.start();
log.start();
clock.start();
detail.start();
live.watch(draw);
live.watchLink(health.draw);
live.start();
accounts.start();
