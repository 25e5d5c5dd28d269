// Answers with their scores, the best first.

import { make, table } from "./dom.js";

// A table of rows that have `text` and `score`; with `choose` one can be chosen, and the first one is.
export function hypotheses(rows, choose) {
  const body = rows.map((row, place) => {
    const text = make("td", { className: "words", dir: "auto" }, choose ? choice(row, place, choose) : row.text);
    const score = row.score?.toFixed(4) ?? "none";
    return make("tr", { className: place || rows.length === 1 ? "" : "best" }, text, make("td", { className: "number" }, score));
  });
  return table("Answers, best first", ["Answer", "Score"], ["", "number"], body);
}

function choice(row, place, choose) {
  const button = make("input", { type: "radio", name: "hypothesis", checked: place === 0 });
  button.addEventListener("change", () => choose(row));
  return make("label", {}, button, row.text);
}
