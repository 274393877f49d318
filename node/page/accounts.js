// The sender's managed accounts: nonces, gaps, what is on its way, what they own. Only a node with a sender has this part.

import { $, attribute, count, el, text } from "./dom.js";
import { parts } from "./live.js";

const HEADS = ["Account", "Chain", "Next nonce", "Gaps", "In flight", "Waiting", "Held", "On loan", "Balance", "State"];
const body = el("tbody");

export function start() {
  const heads = HEADS.map((name) => el("th", { scope: "col" }, name));
  $("accounts").append(el("thead", {}, el("tr", {}, ...heads)), body);
}

// What an account owns, in whole coins.
function coins(wei) {
  if (wei === null) return "–";
  const whole = BigInt(wei) / 10n ** 14n;
  return (Number(whole) / 1e4).toLocaleString("en", { minimumFractionDigits: 4, maximumFractionDigits: 4 });
}

function cells(account) {
  return [
    account.address, account.chain, count(account.next), count(account.gaps), count(account.inFlight), count(account.waiting),
    count(account.held), count(account.leased), coins(account.balance), account.state,
  ];
}

export function draw() {
  const accounts = parts.get("accounts");
  $("accounts-panel").hidden = !accounts?.length;
  if (!accounts) return;
  while (body.rows.length > accounts.length) body.deleteRow(-1);
  accounts.forEach((account, place) => {
    const row = body.rows[place] ?? body.appendChild(el("tr", {}, ...HEADS.map(() => el("td"))));
    attribute(row.cells[0], "class", "mono");
    cells(account).forEach((value, cell) => text(row.cells[cell], value));
  });
}
