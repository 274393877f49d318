// Odd circumstances: addresses that mean nothing, browsers that keep and copy nothing, more cores than have room, and more
// pages than a node serves. Each page says what is the matter, and none is dead.

import { Screen, check, equal, run, send, url } from "./page.mjs";

async function addresses() {
  for (const path of ["/tx/%", "/tx/0x12", "/bundle/x7", "/bundle/%41"]) {
    const screen = await Screen.open(path);
    await screen.page.locator("#detail-body", { hasText: "0x and 64 digits" }).waitFor();
    await screen.page.keyboard.press("Escape");
    check(await screen.figure("Sealed"), "the page works");
    await screen.close();
  }
  const screen = await Screen.open("/bundle/B-1");
  await screen.page.locator("#detail .versions td", { hasText: "v1" }).first().waitFor();
  equal(await screen.text("#detail-title"), "Bundle B-1", "its name");
  await screen.close();
}

async function forgetful() {
  const script = () => {
    for (const name of ["localStorage", "sessionStorage"]) {
      Object.defineProperty(window, name, { get: () => { throw new DOMException("blocked", "SecurityError"); } });
    }
  };
  const screen = await Screen.open("/", { script });
  await screen.page.locator("#theme").click();
  equal(await screen.text("#theme"), "Theme: light", "the switch");
  check(await screen.figure("Sealed"), "the page works");
  await screen.close();
}

async function copying() {
  const clipboards = [
    () => Object.defineProperty(navigator, "clipboard", { value: undefined }),
    () => Object.defineProperty(navigator, "clipboard", { value: { writeText: () => Promise.reject(new Error("not here")) } }),
  ];
  for (const script of clipboards) {
    const screen = await Screen.open("/bundle/1", { script });
    await screen.press("Copy link");
    await screen.page.locator("#detail-address").waitFor();
    const selected = await screen.page.evaluate(() => {
      const { value, selectionStart, selectionEnd } = document.activeElement;
      return value.slice(selectionStart, selectionEnd);
    });
    equal(selected, `${url}/bundle/1`, "what is there to be copied by hand");
    equal(await screen.text("#detail-copy"), "Copy link", "it does not claim that it copied");
    await screen.accessible("an address to copy");
    await screen.close();
  }
  const script = () => Object.defineProperty(navigator, "clipboard", { value: { writeText: async (words) => (window.copied = words) } });
  const screen = await Screen.open("/bundle/1", { script });
  await screen.press("Copy link");
  await screen.page.getByRole("button", { name: "Copied", exact: true }).waitFor();
  equal(await screen.page.evaluate(() => window.copied), `${url}/bundle/1`, "what was copied");
  await screen.close();
}

// The node is asked by nobody else on the page, so every message that has parts is its picture.
async function manyCores() {
  const script = () => {
    const parse = JSON.parse;
    JSON.parse = (words) => {
      const message = parse(words);
      if (message.set?.node) message.set.node.cores = 40;
      if (message.set?.slots) message.set.slots = message.set.slots.map(([slot, cores]) => [slot, [...Array(40).keys()].map((core) => cores[core % cores.length])]);
      return message;
    };
  };
  const screen = await Screen.open("/", { script });
  const few = await Screen.open();
  const rows = screen.page.locator(".core-row");
  equal(await rows.count(), 40, "rows");
  equal(await screen.frames(), await few.frames(), "more cores move nothing");
  await rows.last().scrollIntoViewIfNeeded();
  const hit = await rows.last().evaluate((row) => {
    const { left, top, height } = row.getBoundingClientRect();
    return row.contains(document.elementFromPoint(left + 5, top + height / 2));
  });
  check(hit, "the last core can be seen");
  await screen.accessible("many cores");
  await few.close();
  await screen.close();
}

// Pages until the node has no room for one more; gives what closes them.
async function crowd() {
  const all = new AbortController();
  for (;;) {
    const { status } = await fetch(`${url}/page/live`, { signal: all.signal });
    if (status === 503) return () => all.abort();
    equal(status, 200, "a stream");
  }
}

async function crowded() {
  const leave = await crowd();
  const screen = await Screen.begin("/");
  screen.expected = /503/;
  await screen.page.locator("#alarm", { hasText: "too many pages are open" }).waitFor();
  leave();
  await screen.isLive();
  await screen.page.locator("#alarm").waitFor({ state: "hidden" });
  await screen.close();
}

run(async () => {
  const screen = await Screen.open();
  await screen.follow();
  await send();
  await screen.reaches("B-1", "Finalized");
  await screen.close();
  await addresses();
  await forgetful();
  await copying();
  await manyCores();
  await crowded();
});
