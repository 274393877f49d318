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

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export class Screen {
  // Opens the page at a path. Everything that goes wrong in it is remembered.
  static async open(path = "/", options = {}) {
    const screen = new Screen();
    screen.browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
    screen.context = await screen.browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    screen.page = await screen.context.newPage();
    screen.page.setDefaultTimeout(PATIENCE_MS);
    screen.wrong = [];
    // While a node is being started again the browser says that it cannot reach it; that is no fault of the page.
    screen.page.on("console", (line) => {
      const expected = screen.absent && /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/.test(line.text());
      if (["error", "warning"].includes(line.type()) && !expected) screen.wrong.push(line.text());
    });
    screen.page.on("pageerror", (error) => screen.wrong.push(error.message));
    screen.page.on("request", (request) => {
      if (new URL(request.url()).origin !== new URL(url).origin) screen.wrong.push(`it asks ${request.url()}`);
    });
    await screen.page.goto(url + path);
    await screen.page.locator("#link[data-state=live]").waitFor();
    await screen.page.locator("main[data-ready]").waitFor();
    return screen;
  }

  // Notes every lane that each card is seen in.
  async follow() {
    await this.page.evaluate(() => {
      window.seen = {};
      const look = () => {
        for (const card of document.querySelectorAll(".card")) {
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
