// Everything that can be broken by a button is broken while transactions come; then all heals, and every one is final.

import { Screen, check, equal, run, send } from "./page.mjs";

run(async () => {
  const screen = await Screen.open();
  const { page } = screen;
  await screen.follow();
  const hashes = [];
  const pressed = (name) => page.getByRole("button", { name, exact: true, pressed: true });
  const more = async () => hashes.push(await send(hashes.length % 4));

  await screen.press("Validator 0 down");
  await pressed("Validator 0 down").waitFor();
  await more();
  await screen.reaches("B-1", "Guaranteed");

  await screen.press("Drop submissions");
  await pressed("Drop submissions").waitFor();
  await more();
  await screen.line("bundle not submitted bundle=");
  await screen.press("Drop submissions");

  // Slots without a block there are anyhow, with a validator down: it must be these.
  await screen.press("Skip 5 slots");
  await page.locator("#faults-now", { hasText: "have no block" }).waitFor();
  const [from, to] = await page.evaluate(async () => (await import("/page/live.js")).parts.get("faults").skipped);
  equal(to - from, 5, "slots that are skipped");
  await more();
  await page.waitForFunction(([from, to]) => {
    const empty = [...document.querySelectorAll(".core-row:first-child i[data-use=none]")].map((cell) => cell.title);
    return [...Array(to - from).keys()].every((place) => empty.includes(`slot ${from + place}: no block`));
  }, [from, to]);

  // A fork begins with a package that is reported, and loses it: the bundle must wait again, and go out once more.
  const before = await page.evaluate(async () => (await import("/page/live.js")).lines.at(-1).number);
  await screen.press("Fork, 2 blocks deep");
  await more();
  await page.locator("#faults-now", { hasText: "A fork runs" }).waitFor();
  await page.locator("#faults-now", { hasText: "Nothing is under way" }).waitFor();
  await page.waitForFunction(async (before) => {
    const { lines } = await import("/page/live.js");
    return lines.some(({ number, text }) => number > before && text.startsWith("bundle requeued bundle="));
  }, before);
  await screen.press("No availability");
  await pressed("No availability").waitFor();
  await more();
  await screen.press("Partition");
  await pressed("Partition").waitFor();
  await more();
  await page.locator("#slow li p").first().waitFor();
  await screen.accessible("in trouble");

  await screen.heal();
  for (const hash of hashes) {
    await page.goto(`${new URL(page.url()).origin}/tx/${hash}`);
    await page.locator("#detail .status", { hasText: "finalized" }).waitFor();
  }
  await page.keyboard.press("Escape");
  equal(await screen.figure("Executed twice"), "0", "executed twice");
  await screen.figureIs("Validators", /^6 of 6$/);
  check(hashes.length === 6, "all were sent");
  await screen.close();
});
