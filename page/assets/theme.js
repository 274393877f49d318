// Light, dark, or as the system has it.

import { $, text } from "./dom.js";
import { read, write } from "./kept.js";

const CHOICES = ["auto", "light", "dark"];
const KEY = "pectin-theme";

function apply(choice) {
  if (choice === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
  text($("theme"), `Theme: ${choice}`);
}

export function start() {
  let choice = read("localStorage", KEY);
  if (!CHOICES.includes(choice)) choice = "auto";
  apply(choice);
  $("theme").addEventListener("click", () => {
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
    write("localStorage", KEY, choice);
    apply(choice);
  });
}
