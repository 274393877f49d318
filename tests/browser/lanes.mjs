// A real transaction goes through all lanes, and is found by its hash; the page works by keyboard, in both themes, on a
// phone, and nothing in it jumps.

import { Screen, bundleOf, check, equal, run, send, url } from "./page.mjs";

const LANES = ["Queued", "Submitted", "Guaranteed", "Accumulated", "Finalized"];

// Sends until a transaction is seen in every lane; gives its hash, and its bundle's name. A block that is sealed while the
// window is open goes out before the page is painted, and is not seen in the first lane.
async function throughAllLanes(screen) {
  for (;;) {
    const hash = await send();
    const name = await bundleOf(hash);
    await screen.reaches(name, "Finalized");
    const lanes = await screen.lanes(name);
    check(lanes.length >= LANES.length - 1, `${name} was seen in ${lanes}`);
    equal(lanes, LANES.slice(-lanes.length), `${name} went through`);
    if (lanes.length === LANES.length) return [hash, name];
  }
}

// In every lane that has cards the first one is really seen, at every moment of a bundle's way; and between lanes the card
// is seen to move.
async function seen(screen) {
  const { page } = screen;
  await page.locator(".lanes").evaluate((lanes) => lanes.scrollIntoView());
  await screen.follow();
  await page.evaluate(() => {
    window.hidden = [];
    window.flown = new Set();
    const look = () => {
      for (const lane of document.querySelectorAll(".lane")) {
        const card = lane.querySelector(".card");
        if (!card) continue;
        const [{ left, right, top, bottom }, box] = [card.getBoundingClientRect(), lane.getBoundingClientRect()];
        const within = left >= box.left && right <= box.right && top >= box.top && bottom <= box.bottom;
        const there = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
        if (!within || !card.contains(there)) window.hidden.push(`${card.textContent} in ${lane.dataset.state}`);
      }
      const over = document.querySelector(".lanes").getBoundingClientRect();
      for (const flight of document.querySelectorAll(".flight")) {
        const { left, right, top, bottom } = flight.getBoundingClientRect();
        const within = left >= over.left && right <= over.right && top >= over.top && bottom <= over.bottom;
        if (within) window.flown.add(`${flight.querySelector("b").textContent} to ${flight.dataset.state}`);
      }
    };
    // When something has moved, and while it moves.
    new MutationObserver(look).observe(document.querySelector(".lanes"), { childList: true, subtree: true });
    const always = () => {
      look();
      requestAnimationFrame(always);
    };
    always();
  });
  const name = await bundleOf(await send());
  await screen.reaches(name, "Finalized");
  await screen.still();
  equal(await page.evaluate(() => window.hidden), [], "cards that a lane counts and nobody sees");
  const flown = await page.evaluate((name) => [...window.flown].filter((words) => words.startsWith(`${name} `)), name);
  // A window that is open when a block is sealed lets it skip the first lane.
  const [, ...reached] = await screen.lanes(name);
  check(reached.length >= 3, `it went from lane to lane: ${reached}`);
  equal(flown, reached.map((lane) => `${name} to ${lane}`), "moves that are seen");
}

run(async () => {
  const screen = await Screen.open();
  const { page } = screen;
  await screen.follow();
  const frames = await screen.frames();
  const [hash, name] = await throughAllLanes(screen);
  equal(await screen.figure("Executed twice"), "0", "executed twice");
  await screen.line(`block sealed block=${name.slice(2)}:`);
  for (const words of ["bundle submitted", "bundle guaranteed", "bundle accumulated", "bundle finalized"]) {
    await screen.line(`${words} bundle=${name.slice(2)} blocks=`);
  }
  await page.locator(".core-cells i[data-use=ours]").first().waitFor();
  await page.locator("#sizes td:first-child", { hasText: new RegExp(`^${name.slice(2)}$`) }).waitFor();
  equal(await screen.frames(), frames, "nothing jumped");
  await screen.accessible("light");

  // The same transaction again is refused, and counted by reason.
  const again = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: '{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x01"]}' });
  check((await again.json()).error, "half a transaction is refused");
  await page.locator("#pool td", { hasText: "malformed" }).waitFor();

  // By keyboard: find the transaction, close it, walk to a bundle and open that.
  await page.keyboard.press("/");
  await page.keyboard.type("0x12");
  await page.keyboard.press("Enter");
  check((await screen.text("#find-said")).includes("64 digits"), "half a hash is explained");
  await page.locator("#find-text").fill(hash);
  await page.keyboard.press("Enter");
  await page.locator("#detail .way li[data-done=true]", { hasText: "Final" }).waitFor();
  equal(new URL(page.url()).pathname, `/tx/${hash}`, "the address");
  await screen.accessible("a transaction");
  await page.keyboard.press("Escape");
  await page.locator("#detail").waitFor({ state: "hidden" });
  equal(new URL(page.url()).pathname, "/", "the address");
  await page.locator(".lane[data-state=Finalized] .card").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.locator("#detail .versions td", { hasText: "v1" }).first().waitFor();
  await page.keyboard.press("Escape");

  // Who is given the address sees the same.
  const shared = await Screen.open(`/tx/${hash}`, { colorScheme: "dark" });
  await shared.page.locator("#detail .way li[data-done=true]", { hasText: "Final" }).waitFor();
  await shared.page.keyboard.press("Escape");
  await shared.accessible("dark");
  await shared.page.locator("#theme").click();
  equal(await shared.page.evaluate(() => document.documentElement.dataset.theme), "light", "the switch");
  await shared.close();

  // An address of nothing says so.
  await page.goto(`${url}/tx/0x${"00".repeat(32)}`);
  await page.locator("#detail-body", { hasText: "does not know this transaction" }).waitFor();

  const phone = await Screen.open("/", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const sideways = await phone.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  equal(sideways, 0, "a phone need not scroll sideways");
  await seen(phone);
  await phone.page.locator(".lane[data-state=Finalized] .card").first().tap();
  await phone.page.locator("#detail .way li").first().waitFor();
  await phone.accessible("a bundle on a phone");
  await phone.page.locator("#detail-close").tap();
  await phone.accessible("phone");
  await phone.close();

  // Whoever does not want to see things move sees them in their places.
  const calm = await Screen.open("/", { reducedMotion: "reduce" });
  const moving = await calm.page.evaluateHandle(() => {
    const found = [];
    new MutationObserver((all) => found.push(...all)).observe(document.getElementById("flights"), { childList: true });
    return found;
  });
  await calm.follow();
  await calm.reaches(await bundleOf(await send()), "Guaranteed");
  equal(await moving.evaluate((found) => found.length), 0, "nothing glides");
  await calm.close();
  await screen.close();
});
