// Validators take packages in silence: guarantees time out, a new version is made on a fresh anchor, the page says why
// that is slow and safe, and when the validators speak again it goes through.

import { Screen, check, equal, run, send } from "./page.mjs";

run(async () => {
  const screen = await Screen.open();
  const { page } = screen;
  await screen.follow();
  const frames = await screen.frames();
  await screen.press("Take submissions in silence");
  await page.locator("button[aria-pressed=true]", { hasText: "in silence" }).waitFor();
  await send();
  await screen.line("Queue: Timeout detected - will requeue bundleID=B-1 version=1");
  const slow = page.locator("#slow li", { hasText: "B-1" });
  await slow.waitFor();
  const sentence = await slow.locator("p").textContent();
  check(/; that is safe, since .*; .*\.$/.test(sentence), `why, whether it is safe, and what next: ${sentence}`);
  await screen.line("Queue: Marked submitted bundleID=B-1 blockNumber=1 version=2");
  await page.locator(".card", { hasText: "v2" }).first().waitFor();
  await page.locator(".card .life i.on").first().waitFor();
  check(Number(await screen.figure("Time-outs")) >= 1, "time-outs are counted");
  await screen.heal();
  await screen.reaches("B-1", "Finalized");
  const lanes = await screen.lanes("B-1");
  check(lanes.filter((lane) => lane === "Submitted").length >= 2, `it was sent again: ${lanes}`);
  await page.locator("#slow li.none").waitFor();
  equal(await screen.figure("Executed twice"), "0", "executed twice");
  equal(await screen.frames(), frames, "nothing jumped");
  await screen.close();
});
