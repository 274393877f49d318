// A builder, not a development network: the page asks for nothing in vain while there are no managed accounts, learns by
// itself that there is one, and shows it to whoever has the operator's token.

import { Screen, check, equal, run, url } from "./page.mjs";

const token = process.env.TOKEN;

run(async () => {
  const screen = await Screen.open();
  const { page } = screen;
  const asked = [];
  page.on("response", (response) => response.url().endsWith("/page/accounts") && asked.push(response.status()));
  check(await page.locator("#accounts-token").isHidden(), "without accounts nobody is asked for a token");
  check(await page.locator("#faults-panel").isHidden(), "nothing can be broken here");
  const frames = await screen.frames();

  const made = await fetch(`${url}/v1/accounts`, { method: "POST", headers: { authorization: `Bearer ${token}`, "content-type": "application/json" } });
  equal(made.status, 201, "an account is made");
  const { address } = await made.json();
  await page.locator("#accounts-token").waitFor();
  equal(asked, [], "nothing was asked in vain");
  equal((await screen.frames()).slice(0, frames.length), frames, "nothing jumped");
  await screen.accessible("the token is asked for");

  const enter = async (words) => {
    await page.getByLabel("Managed accounts are shown to the operator.").fill(words);
    await page.keyboard.press("Enter");
  };
  // That a wrong token is refused is the browser's to say, once.
  screen.expected = /401/;
  await enter("not the token");
  await page.locator("#accounts-token-said", { hasText: "does not know this token" }).waitFor();
  screen.expected = /(?!)/;
  await enter(token);
  const row = page.locator("#accounts tbody tr", { hasText: new RegExp(address, "i") });
  await row.waitFor();
  check(await page.locator("#accounts-token").isHidden(), "the token is asked for once");
  // It goes on to be asked for, and answered.
  const [before] = asked.splice(0);
  equal(before, 401, "the wrong token");
  await page.waitForResponse((response) => response.url().endsWith("/page/accounts"));
  await page.reload();
  await row.waitFor();
  check(asked.every((status) => status === 200), `all are answered: ${asked}`);
  await screen.accessible("an operator's accounts");
  await screen.close();
});
