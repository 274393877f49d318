// Faults on demand. Each button says what it does; those that stay on show that they are.

import { $, attribute, el, text } from "./dom.js";
import { parts } from "./live.js";

// Name, what to ask for, and whether it is on.
const TOGGLES = [
  ["Drop submissions", (on) => ({ fault: "submissions", how: on ? "dropped" : null }), (view) => view.submissions === "dropped"],
  ["Take submissions in silence", (on) => ({ fault: "submissions", how: on ? "silent" : null }), (view) => view.submissions === "silent"],
  ["Refuse submissions", (on) => ({ fault: "submissions", how: on ? "refused" : null }), (view) => view.submissions === "refused"],
  ["No availability", (on) => ({ fault: "unavailable", on }), (view) => view.unavailable],
  ["Stall finality", (on) => ({ fault: "stall", on }), (view) => view.stalled],
  ["Partition", (on) => ({ fault: "partition", on }), (view) => view.parted],
];
const ONCE = [
  ["Skip 5 slots", { fault: "skip", slots: 5 }],
  ["Fork, 2 blocks deep", { fault: "fork", depth: 2 }],
];
const toggles = [];
let validators = null;

// What is under way and ends by itself.
function underWay({ fork, skipped: [from, to] }) {
  const slot = parts.get("heads")?.bestSlot ?? 0;
  return [
    fork && !fork.running && `A fork of ${fork.depth} blocks begins with the next block that reports a package.`,
    fork?.running && `A fork runs: ${fork.depth} blocks will be lost.`,
    to > from && slot < to && `The slots from ${from} to ${to - 1} have no block.`,
  ].filter(Boolean).join(" ");
}

async function ask(wish, words) {
  text($("faults-said"), `${words} …`);
  try {
    const response = await fetch("/dev/faults", {
      method: "POST",
      headers: { "content-type": "application/json", "x-pectin-page": "1" },
      body: JSON.stringify(wish),
    });
    const answer = await response.json();
    text($("faults-said"), response.ok ? `${words}: done` : `${words}: ${answer.error}`);
    if (response.ok) parts.set("faults", answer);
    draw();
  } catch (error) {
    text($("faults-said"), `${words}: ${error.message}`);
  }
}

function toggle([name, wish, isOn]) {
  const button = el("button", { class: "quiet", type: "button", "aria-pressed": "false" }, name);
  button.addEventListener("click", () => ask(wish(button.getAttribute("aria-pressed") !== "true"), name));
  toggles.push([button, isOn]);
  return button;
}

function build(view) {
  validators = el("fieldset", {}, el("legend", {}, "Validators down"));
  for (let index = 0; index < view.validators; index += 1) {
    const name = `Validator ${index}`;
    const button = el("button", { class: "quiet", type: "button", "aria-pressed": "false", "aria-label": `${name} down` }, String(index));
    button.addEventListener("click", () => ask({ fault: "validator", index, down: button.getAttribute("aria-pressed") !== "true" }, name));
    toggles.push([button, (now) => now.down.includes(index)]);
    validators.append(button);
  }
  const group = (name, ...buttons) => el("fieldset", {}, el("legend", {}, name), ...buttons);
  const once = ONCE.map(([name, wish]) => {
    const button = el("button", { class: "quiet", type: "button" }, name);
    button.addEventListener("click", () => ask(wish, name));
    return button;
  });
  const heal = el("button", { class: "quiet", type: "button" }, "Heal everything");
  heal.addEventListener("click", () => ask({ fault: "heal" }, "Heal everything"));
  $("faults").append(
    group("Submissions", ...TOGGLES.slice(0, 3).map(toggle)),
    group("Chain", ...TOGGLES.slice(3).map(toggle), ...once),
    validators,
    heal,
  );
}

export function draw() {
  const view = parts.get("faults");
  $("faults-panel").hidden = !view;
  if (!view) return;
  if (!validators) build(view);
  text($("faults-now"), underWay(view) || "Nothing is under way that ends by itself.");
  for (const [button, isOn] of toggles) attribute(button, "aria-pressed", Boolean(isOn(view)));
}
