// The operator's page in a real browser: what the scenarios share.
//
// A scenario is told where the node is and where signed transactions are. What only the one who runs the node can do, it
// asks for on standard output, and sees on the page that it was done. It waits for what the page shows, never for time.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

export const url = process.env.URL_OF_NODE;
const transactions = JSON.parse(readFileSync(process.env.TRANSACTIONS, "utf8"));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// What does not come in this time does not come.
const PATIENCE_MS = 120_000;

export function check(condition, words) {
  if (!condition) throw new Error(words);
}

export function equal(found, expected, words) {
  check(JSON.stringify(found) === JSON.stringify(expected), `${words}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
}

// Asks whoever runs the node for something.
export function ask(what) {
  console.log(`ask ${what}`);
}

// Sends the next of a sender's transactions; gives its hash.
export async function send(sender = 0) {
  const raw = transactions[sender].shift();
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_sendRawTransaction", params: [raw] }),
  });
  const answer = await response.json();
  check(answer.result, JSON.stringify(answer));
  return answer.result;
}

// The name of the bundle that a transaction is in, once it is in one.
export async function bundleOf(hash) {
  for (;;) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "builder_transaction", params: [hash] });
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
    const { result } = await response.json();
    if (result?.bundle) return result.bundle.name;
  }
}

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export class Screen {
  // Opens the page at a path. Everything that goes wrong in it is remembered.
  static async open(path = "/", options = {}) {
    const screen = await Screen.begin(path, options);
    await screen.isLive();
    return screen;
  }

  // The same, without waiting for the node. A `script` runs before those of the page.
  static async begin(path, { script, ...options } = {}) {
    const screen = new Screen();
    screen.browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
    screen.context = await screen.browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    screen.page = await screen.context.newPage();
    screen.page.setDefaultTimeout(PATIENCE_MS);
    screen.wrong = [];
    // What the browser may complain of at the moment.
    screen.expected = /(?!)/;
    screen.page.on("console", (line) => {
      if (["error", "warning"].includes(line.type()) && !screen.expected.test(line.text())) screen.wrong.push(line.text());
    });
    screen.page.on("pageerror", (error) => screen.wrong.push(error.message));
    screen.page.on("request", (request) => {
      if (new URL(request.url()).origin !== new URL(url).origin) screen.wrong.push(`it asks ${request.url()}`);
    });
    if (script) await screen.page.addInitScript(script);
    await screen.page.goto(url + path);
    return screen;
  }

  async isLive() {
    await this.page.locator("#link[data-state=live]").waitFor();
    await this.page.locator("main[data-ready]").waitFor();
  }

  // Waits until nothing moves.
  async still() {
    await this.page.waitForFunction(() => document.getAnimations().length === 0);
  }

  // Notes every lane that each card is seen in.
  async follow() {
    await this.page.evaluate(() => {
      window.seen = {};
      const look = () => {
        for (const card of document.querySelectorAll(".lane .card")) {
          const name = card.querySelector("b").textContent;
          const lane = card.closest(".lane").dataset.state;
          const lanes = (window.seen[name] ??= []);
          if (lanes[lanes.length - 1] !== lane) lanes.push(lane);
        }
        for (const button of document.querySelectorAll("#given-up button")) {
          const [name] = button.textContent.split(" ");
          const lanes = (window.seen[name] ??= []);
          if (lanes[lanes.length - 1] !== button.dataset.state) lanes.push(button.dataset.state);
        }
      };
      look();
      new MutationObserver(look).observe(document.querySelector(".lanes"), { childList: true, subtree: true });
    });
  }

  lanes(name) {
    return this.page.evaluate((name) => window.seen[name] ?? [], name);
  }

  // Waits until a card was seen in a lane.
  async reaches(name, lane) {
    await this.page.waitForFunction(([name, lane]) => window.seen[name]?.includes(lane), [name, lane]);
  }

  async text(selector) {
    return (await this.page.locator(selector).first().textContent()).trim();
  }

  // A figure's value by its name.
  figure(name) {
    return this.page.evaluate((name) => {
      const box = [...document.querySelectorAll("#figures div")].find((box) => box.querySelector("dt").textContent === name);
      return box.querySelector("dd").textContent;
    }, name);
  }

  // What the drawer says of a bundle by its name.
  row(name) {
    return this.page.evaluate((name) => {
      const term = [...document.querySelectorAll("#detail dt")].find((term) => term.textContent === name);
      return term?.nextElementSibling.textContent;
    }, name);
  }

  async figureIs(name, expected) {
    await this.page.waitForFunction(([name, expected]) => {
      const box = [...document.querySelectorAll("#figures div")].find((box) => box.querySelector("dt").textContent === name);
      return new RegExp(expected).test(box.querySelector("dd").textContent);
    }, [name, expected.source]);
  }

  line(words) {
    return this.page.locator("#log li", { hasText: words }).first().waitFor();
  }

  press(name) {
    return this.page.getByRole("button", { name, exact: true }).click();
  }

  // Presses the button that ends all faults, and waits until none is left.
  async heal() {
    await this.press("Heal everything");
    await this.page.waitForFunction(() => !document.querySelector("#faults button[aria-pressed=true]"));
  }

  // Where everything stands that must not move.
  frames() {
    return this.page.evaluate(() =>
      [...document.querySelectorAll(".panel, .lane, #figures > div")].filter((box) => box.checkVisibility()).map((box) => {
        const { x, y, width, height } = box.getBoundingClientRect();
        return [box.querySelector("dt")?.textContent ?? box.className, x + scrollX, y + scrollY, width, height].join(" ");
      }),
    );
  }

  // Words in panels that nobody can read: they reach beyond what they stand in, and cannot be scrolled to.
  cut() {
    return this.page.evaluate(() => {
      const found = [];
      const words = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
      for (let node = words.nextNode(); node; node = words.nextNode()) {
        const parent = node.parentElement;
        if (!node.textContent.trim() || !parent.checkVisibility() || parent.closest(".hidden, .core-cells")) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        const { left, right, bottom } = range.getBoundingClientRect();
        for (let box = parent; box; box = box.parentElement) {
          const style = getComputedStyle(box);
          if (style.textOverflow === "ellipsis" || ["auto", "scroll"].includes(style.overflowX)) break;
          // A panel's padding is no place for words.
          const { left: from, right: to, bottom: end } = box.getBoundingClientRect();
          const [before, after] = box.matches(".panel") ? [parseFloat(style.paddingLeft), parseFloat(style.paddingRight)] : [0, 0];
          const clips = box.matches(".panel") || style.overflowX === "hidden";
          if (clips && (left < from + before - 1 || right > to - after + 1 || bottom > end + 1 && style.overflowY === "hidden")) {
            found.push(`"${node.textContent.trim()}" in ${box.className || box.id}`);
            break;
          }
          if (["auto", "scroll"].includes(style.overflowY)) break;
        }
      }
      return found;
    });
  }

  // What an accessibility checker calls serious.
  async accessible(where) {
    // The checker comes by the debugger's way in; the page's own policy would not let it.
    await this.page.evaluate(axe);
    const found = await this.page.evaluate(async () => {
      const { violations } = await window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] });
      const grave = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
      return grave.map(({ id, nodes }) => `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary}`).join("; ")}`);
    });
    equal(found, [], `accessibility, ${where}`);
  }

  async close() {
    equal(this.wrong, [], "what went wrong in the page");
    await this.browser.close();
  }
}

// Runs a scenario; the exit code says how it went.
export async function run(scenario) {
  try {
    await scenario();
    console.log("done");
    process.exit(0);
  } catch (error) {
    console.log(`failed ${error.stack}`);
    process.exit(1);
  }
}
