// The pieces of text and answer, how likely each was, and what else could have come in its place.

import { find, make, percent, roving, show, shown } from "./dom.js";

// Shows what `inspect` has found.
//
// `numGiven` pieces were given and not found; `force(ids, ends)` is called when the answer is to begin with
// other ones, and, with `ends`, to have no more.
export function showPieces(found, numGiven, force) {
  const last = found.pieces.length - 1;
  show(true, "pieces");
  const source = found.source_pieces.map((piece, place, all) => named(piece, place === all.length - 1));
  find("source").replaceChildren(...source.map((name) => make("span", { className: "piece" }, name)));
  const tabs = found.pieces.map((piece, place) => {
    const share = Math.exp(found.log_probabilities[place]);
    const tab = pieceButton(named(piece, place === last), share, () => open(place));
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", "alternatives");
    if (place < numGiven) Object.assign(tab, { className: "piece given", title: "given" });
    tab.addEventListener("focus", () => open(place));
    return tab;
  });

  function open(place) {
    tabs.forEach((tab, at) => (tab.ariaSelected = String(at === place)));
    showAlternatives(found, place, force);
  }

  find("target").replaceChildren(...tabs);
  // Where the model was least sure there is most to see.
  const logs = found.log_probabilities.slice(numGiven);
  const doubtful = numGiven + logs.indexOf(Math.min(...logs));
  roving(find("target"), tabs, doubtful);
  open(doubtful);
}

function showAlternatives(found, place, force) {
  const last = found.pieces.length - 1;
  find("alternatives-title").textContent = `In place of “${named(found.pieces[place], place === last)}”`;
  const before = found.ids.slice(0, place);
  const buttons = found.alternatives[place].flatMap((piece, at) => {
    const id = found.alternative_ids[place][at];
    const share = Math.exp(found.alternative_log_probabilities[place][at] ?? -Infinity);
    const ends = id === found.ids[last];
    if (id === found.ids[place] || share === 0) return [];
    return [pieceButton(named(piece, ends), share, () => force(ends ? before : [...before, id], ends))];
  });
  find("choices").replaceChildren(...buttons);
  roving(find("choices"), buttons, 0);
}

const named = (piece, isEnd) => (isEnd ? "(end)" : shown(piece));

function pieceButton(name, share, act) {
  const bar = make("span", { className: "share", ariaHidden: "true" }, make("span", {}));
  bar.firstChild.style.width = `${100 * share}%`;
  const number = make("span", { className: "quiet" }, percent(share));
  const button = make("button", { type: "button", className: "piece" }, make("span", {}, name), " ", number, bar);
  button.addEventListener("click", act);
  return button;
}
