// A card that goes to another lane is seen on its way: a likeness of it glides over the lanes, since a lane cuts off
// whatever leaves it. The card itself is in its new place at once, and shows its words when the likeness arrives.

import { $, el } from "./dom.js";

const DURATION_MS = 260;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

// Where a card is seen. One that its lane has scrolled away is above or below at the lane's edge, so that nothing flies
// over what stands there; to the sides it is where it is, beyond the edge of everything.
function seen(item) {
  const [lane, card] = [item.parentElement.getBoundingClientRect(), item.getBoundingClientRect()];
  const top = Math.max(lane.top, Math.min(card.top, lane.bottom - card.height));
  return { left: card.left, top, width: card.width };
}

// Where all cards are; none if nobody sees them move, or wants to.
export function places(cards) {
  const found = new Map();
  if (calm.matches || document.hidden) return found;
  for (const [key, { item }] of cards) found.set(key, [item.parentElement, seen(item)]);
  return found;
}

// Lets those glide that have changed their lane since.
export function glide(before, cards) {
  const moved = [...before].filter(([key, [lane]]) => cards.has(key) && cards.get(key).item.parentElement !== lane);
  // Where they end is looked up for all before anything is drawn, so that the page is laid out once.
  const flights = moved.map(([key, [, from]]) => [cards.get(key), from, seen(cards.get(key).item)]);
  const over = $("flights").getBoundingClientRect();
  for (const [card, from, to] of flights) fly(card, from, to, over);
}

function fly({ button, bundle }, from, to, over) {
  const words = [...button.childNodes].map((node) => node.cloneNode(true));
  const likeness = el("div", { class: "card flight", "data-state": bundle.state, "data-slow": bundle.why !== null ? "true" : null }, ...words);
  likeness.style.width = `${to.width}px`;
  likeness.style.left = `${to.left - over.left}px`;
  likeness.style.top = `${to.top - over.top}px`;
  $("flights").append(likeness);
  button.classList.add("landing");
  const way = [{ transform: `translate(${from.left - to.left}px, ${from.top - to.top}px)` }, { transform: "none" }];
  const flight = likeness.animate(way, { duration: DURATION_MS, easing: "ease-out" });
  flight.onfinish = flight.oncancel = () => {
    likeness.remove();
    button.classList.remove("landing");
  };
}
