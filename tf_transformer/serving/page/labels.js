// Labels with their probabilities as bars, the most probable first.

import { make, percent, table } from "./dom.js";

export function labels(row) {
  const places = row.labels.map((_, place) => place);
  places.sort((one, other) => row.probabilities[other] - row.probabilities[one]);
  const rows = places.map((place) => {
    const bar = make("div", {});
    bar.style.width = `${100 * row.probabilities[place]}%`;
    return make(
      "tr",
      { className: row.labels[place] === row.label ? "best" : "" },
      make("td", { className: "words", dir: "auto" }, row.labels[place]),
      make("td", { className: "number" }, percent(row.probabilities[place])),
      make("td", { className: "bar", ariaHidden: "true" }, bar)
    );
  });
  return table("Labels, the most probable first", ["Label", "Probability", ""], ["", "number", "bar"], rows);
}
