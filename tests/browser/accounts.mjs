// The sender's accounts: what they own, their nonces, and that one of them sends.

import { Screen, check, equal, run, url } from "./page.mjs";

run(async () => {
  const screen = await Screen.open();
  const { page } = screen;
  await screen.follow();
  const rows = page.locator("#accounts tbody tr");
  await rows.first().waitFor();
  const cell = (row, place) => rows.nth(row).locator("td").nth(place);
  const sender = (await cell(0, 0).textContent()).trim();
  const before = await cell(0, 8).textContent();
  equal(await cell(0, 2).textContent(), "0", "its next nonce");
  const call = { jsonrpc: "2.0", id: 1, method: "eth_sendTransaction", params: [{ from: sender, to: sender, value: "0x1" }] };
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(call) });
  const answer = await response.json();
  check(answer.result, JSON.stringify(answer));
  await page.waitForFunction(() => {
    const cells = [...document.querySelectorAll("#accounts tbody tr:first-child td")].map((cell) => cell.textContent);
    return cells[2] === "1" && cells[3] === "0" && cells[9] === "runs";
  });
  await screen.reaches("B-1", "Finalized");
  await page.waitForFunction((before) => document.querySelector("#accounts tbody td:nth-child(9)").textContent !== before, before);
  await screen.accessible("managed accounts");
  await screen.close();
});
