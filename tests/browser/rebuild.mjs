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
  await screen.line(/guarantee timeout bundle=1 blocks=\d+ version=1/);
  const slow = page.locator("#slow li", { hasText: "B-1" });
  await slow.waitFor();
  const sentence = await slow.locator("p").textContent();
  check(/; that is safe, since .*; .*\.$/.test(sentence), `why, whether it is safe, and what next: ${sentence}`);
  await screen.line(/bundle submitted bundle=1 blocks=\d+ version=2/);
  await page.locator(".lane .card", { hasText: "v2" }).first().waitFor();
  await page.locator(".lane .card .life i.on").first().waitFor();
  await page.locator(".lane .card .how", { hasText: /failed \d+ of 50/ }).first().waitFor();
  await page.locator(".lane .card .age", { hasText: /, \d.* left$/ }).first().waitFor();

  // Whoever reads in the drawer is not disturbed while the sentence there speaks of seconds.
  await slow.locator("button").click();
  const link = page.locator("#detail .list a").first();
  await link.focus();
  await page.evaluate(() => {
    let held = document.activeElement;
    const href = held.getAttribute("href");
    window.heard = { sentences: new Set(), inPlace: 0, lost: 0 };
    window.listening = setInterval(() => {
      const { sentences } = window.heard;
      const before = sentences.size;
      sentences.add(document.getElementById("detail-slow").textContent);
      window.heard.inPlace += sentences.size > before && document.activeElement === held;
      window.heard.lost += document.activeElement?.getAttribute("href") !== href;
      // When more than the sentence has changed, all is made anew, and another element has the focus.
      held = document.activeElement;
    }, 20);
  });
  await page.waitForFunction(() => window.heard.inPlace > 2);
  const heard = await page.evaluate(() => (clearInterval(window.listening), window.heard));
  equal(heard.lost, 0, "the focus was lost");
  check(/^\d+ of 50$/.test(await screen.row("Failed versions")), "how often it may fail");
  await page.locator("#detail-waits", { hasText: /^waited for \d.* more, of \d/ }).waitFor();
  // What has not happened is not told as if it had.
  await page.locator("#detail .list a").first().click();
  const final = page.locator("#detail .way li", { hasText: "Final" });
  equal(await final.textContent(), "Final: not yet", "a step that is not done");
  await page.keyboard.press("Escape");
  check(Number(await screen.figure("Guarantee timeouts")) >= 1, "timeouts are counted");
  await screen.heal();
  await screen.reaches("B-1", "Finalized");
  const lanes = await screen.lanes("B-1");
  check(lanes.filter((lane) => lane === "Submitted").length >= 2, `it was sent again: ${lanes}`);
  await page.locator("#slow li.none").waitFor();
  equal(await screen.figure("Executed twice"), "0", "executed twice");
  equal(await screen.frames(), frames, "nothing jumped");
  await screen.close();
});
