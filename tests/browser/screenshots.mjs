// The pictures in docs/screenshots: the page at work, in the dark, in trouble, a transaction, and on a phone.

import { Screen, run, send } from "./page.mjs";

async function picture(screen, name, options = {}) {
  // The browser hides scroll bars in pictures, but not the room that is kept for them.
  await screen.page.evaluate(() => (document.documentElement.style.scrollbarGutter = "auto"));
  // Nothing begins to move while the picture is taken.
  await screen.page.emulateMedia({ reducedMotion: "reduce" });
  await screen.still();
  await screen.page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png`, ...options });
  await screen.page.emulateMedia({ reducedMotion: null });
}

// Waits until there is something in every lane; what was just submitted will stay there while a picture is taken.
const full = ({ page }) =>
  page.waitForFunction(() => {
    const ages = [...document.querySelectorAll(".lane")].map((lane) => lane.querySelector(".card .age")?.textContent);
    return ages.every((age) => age !== undefined) && /^0\.\d s/.test(ages[1]);
  });

async function some() {
  let hash;
  for (let sender = 0; sender < 8; sender += 1) hash = await send(sender);
  await new Promise((resolve) => setTimeout(resolve, 400));
  return hash;
}

async function busy(blocks) {
  let hash;
  for (let block = 0; block < blocks; block += 1) hash = await some();
  return hash;
}

// Sends until something is there: what is waited for may last only a moment.
async function busyUntil(something) {
  let there = false;
  const waits = something.finally(() => (there = true));
  let hash;
  while (!there) hash = await some();
  await waits;
  return hash;
}

run(async () => {
  const screen = await Screen.open("/", { viewport: { width: 1440, height: 1020 } });
  await screen.follow();
  const hash = await busyUntil(full(screen));
  await picture(screen, "page-light");

  const dark = await Screen.open("/", { viewport: { width: 1440, height: 1020 }, colorScheme: "dark" });
  await screen.press("Take submissions in silence");
  await busy(10);
  await dark.line("guarantee timeout");
  await dark.page.locator("#slow li p").first().waitFor();
  await dark.page.locator(".lane[data-state=Submitted] .how", { hasText: "failed 1 of" }).first().waitFor();
  await picture(dark, "page-dark-slow", { fullPage: true });
  await screen.heal();

  await screen.page.goto(`${new URL(screen.page.url()).origin}/tx/${hash}`);
  await screen.page.locator("#detail .status", { hasText: "finalized" }).waitFor();
  await picture(screen, "transaction");

  const phone = await Screen.open("/", { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true });
  await phone.page.locator(".lanes").evaluate((lanes) => lanes.scrollIntoView());
  await busyUntil(full(phone));
  await picture(phone, "phone");
  await Promise.all([screen, dark, phone].map((one) => one.close()));
});
