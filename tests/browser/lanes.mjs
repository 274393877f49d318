// A real transaction goes through all lanes, and is found by its hash; the page works by keyboard, in both themes, on a
// phone, and nothing in it jumps.

import { Screen, check, equal, run, send, url } from "./page.mjs";

const LANES = ["Queued", "Submitted", "Guaranteed", "Accumulated", "Finalized"];

run(async () => {
  const screen = await Screen.open();
  const { page } = screen;
  await screen.follow();
  const frames = await screen.frames();
  const hash = await send();
  await screen.reaches("B-1", "Finalized");
  equal(await screen.lanes("B-1"), LANES, "B-1 went through");
  equal(await screen.figure("Executed twice"), "0", "executed twice");
  for (const words of ["Queue: Sealed bundleID=B-1", "Queue: Marked submitted bundleID=B-1", "Queue: Marked guaranteed bundleID=B-1", "Queue: Marked accumulated bundleID=B-1", "Queue: Marked finalized bundleID=B-1"]) {
    await screen.line(words);
  }
  await page.locator(".core-cells i[data-use=ours]").first().waitFor();
  await page.locator("#sizes td", { hasText: "B-1" }).first().waitFor();
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
  await phone.page.locator(".lane[data-state=Finalized] .card").first().tap();
  await phone.page.locator("#detail .way li").first().waitFor();
  await phone.accessible("a bundle on a phone");
  await phone.page.locator("#detail-close").tap();
  await phone.accessible("phone");
  await phone.close();
  await screen.close();
});
