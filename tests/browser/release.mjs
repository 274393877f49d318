// A block fails as often as it may: it is abandoned, and once it is certainly dead its transaction goes back to the pool,
// is built into another block, and becomes final there.

import { Screen, check, equal, run, send } from "./page.mjs";

run(async () => {
  const screen = await Screen.open();
  const { page } = screen;
  await screen.follow();
  await screen.press("Take submissions in silence");
  const hash = await send();
  await screen.reaches("B-1", "Abandoned");
  const said = await page.locator("#slow li", { hasText: "Abandoned" }).first().locator("p").textContent();
  check(said.includes("back to the pool"), said);
  await screen.heal();
  await screen.reaches("B-1", "Released");
  await screen.line("block released block=1:");
  await screen.figureIs("Releases", /^[1-9]/);
  // Its number belongs to another block now; the button still shows the one that was given up.
  await page.locator("#given-up button", { hasText: "B-1 released" }).click();
  await page.locator("#detail .way li[data-done=bad]", { hasText: "back in the pool" }).waitFor();
  equal([await screen.text("#detail-title"), await screen.row("State")], ["Bundle B-1", "Released"], "what was given up");
  await page.keyboard.press("Escape");
  await page.goto(`${new URL(page.url()).origin}/tx/${hash}`);
  await page.locator("#detail .way li[data-done=true]", { hasText: "nothing undoes it" }).waitFor();
  check((await screen.text("#detail .status")) === "finalized", "it is final after all");
  // Both blocks are in its story, and who gave the first one up.
  await page.locator("#detail .way li[data-done=bad]", { hasText: "by the chain; back in the pool" }).waitFor();
  const names = await page.locator("#detail .way li b").allTextContents();
  equal(names.filter((name) => name === "Sealed").length, 2, "the blocks that it was sealed in");
  check(names.indexOf("Released") < names.lastIndexOf("Sealed"), names.join());
  await page.keyboard.press("Escape");
  equal(await screen.figure("Executed twice"), "0", "executed twice");
  await screen.accessible("after a release");
  await screen.close();
});
