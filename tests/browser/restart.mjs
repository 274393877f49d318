// The node is killed and started again while the page is open: the page says so, comes back by itself, and shows what
// was there before and what happens after.

import { Screen, ask, equal, run, send } from "./page.mjs";

run(async () => {
  const screen = await Screen.open();
  const { page } = screen;
  await screen.follow();
  const hash = await send();
  await screen.reaches("B-1", "Finalized");
  const frames = await screen.frames();
  // Meanwhile the browser says that it cannot reach the node; that is no fault of the page.
  screen.expected = /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/;
  ask("restart");
  await page.locator("#link[data-state=lost]").waitFor();
  equal(await screen.frames(), frames, "nothing jumped when the node went");
  await page.locator("#link[data-state=live]").waitFor();
  screen.expected = /(?!)/;
  await screen.figureIs("Final", /^[1-9]/);
  // Several blocks may become final at once, so it is the transaction that is waited for and no number.
  const isFinal = async (hash) => {
    await page.locator("#find-text").fill(hash);
    await page.keyboard.press("Enter");
    await page.locator("#detail .status", { hasText: "finalized" }).waitFor();
    await page.keyboard.press("Escape");
  };
  await isFinal(hash);
  const next = await send();
  await screen.line("block sealed block=");
  await isFinal(next);
  equal(await screen.figure("Executed twice"), "0", "executed twice");
  await screen.close();
});
