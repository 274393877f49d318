// The log lines, newest first. Whoever has scrolled down is not disturbed by newer ones.

import { $, clock, el, text } from "./dom.js";
import { lines } from "./live.js";

const SHOWN_MAX = 300;
let shownTo = 0;

export function start() {
  $("log-filter").addEventListener("input", () => draw(true));
  $("log-more").addEventListener("click", () => {
    $("log").scrollTop = 0;
    draw(false);
  });
  $("log").addEventListener("scroll", () => $("log").scrollTop === 0 && draw(false), { passive: true });
}

const matches = (line, filter) => filter === "" || line.text.toLowerCase().includes(filter);

function item(line) {
  return el(
    "li",
    { "data-number": line.number },
    el("time", { datetime: new Date(line.at).toISOString() }, clock(line.at)),
    el("span", { class: line.level }, line.level),
    el("span", {}, line.text),
  );
}

export function draw(again) {
  const list = $("log");
  const filter = $("log-filter").value.trim().toLowerCase();
  const held = !again && list.scrollTop > 0;
  if (again) {
    shownTo = 0;
    list.replaceChildren();
  }
  const fresh = lines.filter((line) => line.number > shownTo && matches(line, filter));
  $("log-more").disabled = !held || fresh.length === 0;
  text($("log-more"), `${held ? fresh.length : 0} newer lines`);
  if (held) return;
  list.prepend(...fresh.slice(-SHOWN_MAX).reverse().map(item));
  while (list.childElementCount > SHOWN_MAX) list.lastElementChild.remove();
  shownTo = lines.length ? lines[lines.length - 1].number : shownTo;
}
