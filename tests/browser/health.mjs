// Whether the node is well is seen at once: the pill says so with its reason, and what to do lies over the page. And what
// stands on the page is true and can be read: the block that all others were given up for, lanes above their limit, and
// everything at any width.

import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { Screen, check, equal, run, send, url } from "./page.mjs";

const SIZES = [[1440, 900], [1181, 800], [1000, 800], [761, 800], [390, 844], [320, 640]];
const pill = "#link[data-state=live]";

// As the operator: the token lies in the data directory, beside the transactions.
async function order(method, ...params) {
  const token = readFileSync(`${dirname(process.env.TRANSACTIONS)}/data/admin-token`, "utf8").trim();
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }) });
  const answer = await response.json();
  check(answer.result !== undefined, JSON.stringify(answer));
}

// Changes what the node says of itself before the page reads it.
const changed = (change) => `{
  const parse = JSON.parse;
  const change = ${change};
  JSON.parse = (words) => {
    const message = parse(words);
    if (message.set) change(message.set);
    return message;
  };
}`;

// Everything can be read at every width, with the longest words that there are: short slots have the longest sentence about
// their window, and names of reasons are long.
async function widths() {
  const script = changed((set) => {
    if (set.refused) Object.assign(set.refused, { replacement_transaction_underpriced: 1234567, insufficient_funds: 7654321 });
  });
  for (const [width, height] of SIZES) {
    const screen = await Screen.open("/", { script, viewport: { width, height }, hasTouch: width < 500, isMobile: width < 500 });
    await screen.page.locator("#pool td", { hasText: "replacement transaction underpriced" }).waitFor();
    check(/^window \d+–\d+ ms before a slot$/.test(await screen.text("#clock-said")), "the window of a short slot");
    equal(await screen.cut(), [], `what is cut at ${width} pixels`);
    const sideways = await screen.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(sideways <= 0, `nothing scrolls sideways at ${width} pixels: ${sideways}`);
    await screen.close();
  }
}

// Without validators the node is not ready; with them it is again.
async function lonely(screen) {
  const { page } = screen;
  await page.locator(`${pill}[data-level=ok]`).waitFor();
  equal(await screen.text("#link"), "live", "the pill of a healthy node");
  check(await page.locator("#alarm").isHidden(), "there is nothing to say");
  await page.locator("#link").click();
  equal(await screen.text("#alarm"), "The node builds and submits; nothing is wrong.", "what the pill says when it is asked");
  await page.locator("#link").click();
  await page.locator("#alarm").waitFor({ state: "hidden" });

  const frames = await screen.frames();
  for (let validator = 0; validator < 6; validator += 1) await screen.press(`Validator ${validator} down`);
  await page.locator(`${pill}[data-level=unready]`).waitFor();
  await page.locator("#alarm", { hasText: "None of 6 validators is connected" }).waitFor();
  equal(await screen.text("#link"), "not ready", "the pill");
  check((await page.locator("#link").getAttribute("title")).includes("None of 6 validators is connected"), "its reason");
  check((await screen.text("#alarm")).includes("Check the network, the firewall"), "what to do");
  const response = await fetch(`${url}/readyz`);
  equal([response.status, (await response.json()).reasons[0].code], [503, "no_validators"], "the same as /readyz");
  await screen.accessible("not ready");
  // Whoever has read it may put it away.
  await page.locator("#link").click();
  await page.locator("#alarm").waitFor({ state: "hidden" });
  equal(await screen.frames(), frames, "nothing jumped");
  await screen.heal();
  await page.locator(`${pill}[data-level=ok]`).waitFor();
}

// Bundles that are submitted may be more than the limit for new ones, and the lane says what is true.
async function crowded() {
  const script = changed((set) => {
    if (set.node) set.node.inflightMax = 1;
  });
  const screen = await Screen.open("/", { script });
  const many = screen.page.locator(".lane[data-state=Submitted] h3 span");
  await many.filter({ hasText: /^\d+ \(limit for new: 1\)$/ }).waitFor();
  check((await many.getAttribute("title")).includes("1 is the limit for new ones"), "what that means");
  equal(await screen.cut(), [], "it can be read");
  await screen.close();
}

// Many bundles are given up because of the lowest: it is shown, however many there are.
async function manyGivenUp() {
  const script = changed((set) => {
    const lowest = Object.entries(set).find(([name, part]) => name.startsWith("b1-") && part.state === "Abandoned");
    if (lowest) for (let more = 0; more < 20; more += 1) set[`b${100 + more}-00000000`] = { ...lowest[1], number: 100 + more, hash: `0x${more}` };
  });
  const screen = await Screen.open("/", { script });
  const { page } = screen;
  await page.locator("#given-up-more").waitFor();
  const [culprit, ...others] = await page.locator("#given-up button").allTextContents();
  equal([culprit, others.length], ["B-1 abandoned", 7], "the first is the one that all others stand on");
  const all = await abandoned(page);
  check(all > 20, `all are there: ${all}`);
  equal(await screen.text("#given-up-more"), `and ${all - 8} more`, "those that have no room are counted");
  check((await screen.text("#given-up")).includes(`and ${all - 1} that stand on it`), "why they are given up");
  equal(await screen.cut(), [], "it can be read");
  await screen.close();
}

const abandoned = (page) => page.evaluate(async () => (await import("/page/live.js")).bundles().filter(({ state }) => state === "Abandoned").length);

// Blocks are given up because of the lowest.
async function givenUp(screen) {
  const { page } = screen;
  await screen.press("Take submissions in silence");
  await page.locator("button[aria-pressed=true]", { hasText: "in silence" }).waitFor();
  await send();
  await page.locator(".lane[data-state=Submitted] .card", { hasText: "B-1" }).waitFor();
  for (let block = 0; block < 9; block += 1) await order("evm_mine");
  // They wait together, as what will be one bundle.
  await page.locator(".lane .card", { hasText: /^B-\d+(9|\d\d) blocks/ }).waitFor();
  await crowded();
  await screen.figureIs("Guarantee timeouts", /^[1-9]/);
  const words = await page.evaluate(() => document.getElementById("figures").textContent);
  check(words.includes("no guarantee arrived within 3.0 s"), words);
  await order("evm_mine");
  await order("builder_release", 1);
  await page.locator("#given-up button[data-state=Abandoned]", { hasText: /^B-1 abandoned$/ }).waitFor();
  const [culprit, ...others] = await page.locator("#given-up button").allTextContents();
  equal(culprit, "B-1 abandoned", "the first is the one that all others stand on");
  equal(others.length, (await abandoned(page)) - 1, "others that are shown");
  check(others.length >= 1, "there are others");
  await page.locator(`${pill}[data-level=unready]`).waitFor();
  await page.locator("#alarm", { hasText: /Block 1 was abandoned together with \d\d that stand on it/ }).waitFor();
  await manyGivenUp();
  await screen.heal();
  await page.locator(`${pill}[data-level=ok]`).waitFor();
}

run(async () => {
  await widths();
  const screen = await Screen.open();
  await lonely(screen);
  await givenUp(screen);
  equal(await screen.figure("Executed twice"), "0", "executed twice");
  await screen.close();
});
