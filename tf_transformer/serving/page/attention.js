// The attention of a layer and a head, as a picture and as a table.

import { find, make, percent, show, shown, table } from "./dom.js";
import { heatMap } from "./heat_map.js";

const MEAN = "mean";
const KINDS = {
  cross: {
    name: "answer and text (cross-attention)",
    meaning: "What each piece of the answer, a row, was made from: the stronger the colour, the more it looked at that piece of the text, a column.",
    row: "of the answer",
    column: "of the text",
  },
  encoder: {
    name: "text and itself (encoder)",
    meaning: "What each piece of the text, a row, was read together with: the stronger the colour, the more it looked at the piece of that column.",
    row: "of the text",
    column: "of the text",
  },
  decoder: {
    name: "answer and itself (decoder)",
    meaning: "When each piece of the answer, a row, was chosen: the stronger the colour, the more the piece of that column, which stands before it, was looked at.",
    row: "of the answer",
    column: "of the answer",
  },
};

let found = null;
let asked = 0;
let askLayer = () => {};

// Shows what `inspect` has found of a layer; `ask(layer)` is called when another one is chosen.
export function showAttention(row, layer, ask) {
  found = row;
  asked = layer;
  askLayer = ask;
  show(true, "attention");
  if (find("kind").length === 0) fill("kind", Object.keys(KINDS), (name) => KINDS[name].name);
  showChoices();
  draw();
}

export function prepareAttention() {
  find("kind").addEventListener("change", () => {
    showChoices();
    draw();
  });
  find("layer").addEventListener("change", () => askLayer(Number(find("layer").value)));
  find("head").addEventListener("change", draw);
  find("as-table").addEventListener("toggle", showTable);
}

// The layers and heads that there are. A layer below 0 counts from the end, and beyond it is the last one.
function showChoices() {
  const kind = find("kind").value;
  const depth = found.num_layers[kind === "encoder" ? 0 : 1];
  const numbers = (most) => Array.from({ length: most }, (_, place) => String(place + 1));
  fill("layer", ["0", ...numbers(depth)], (value) => (value === "0" ? "all (mean)" : value));
  find("layer").value = asked < 0 ? Math.max(depth + 1 + asked, 1) : Math.min(asked, depth);
  fill("head", [MEAN, ...numbers(found[kind].length)], (value) => (value === MEAN ? "all (mean)" : value));
}

// Options of a select; what was chosen stays, or the nearest that there is.
function fill(id, values, name) {
  const select = find(id);
  const place = Math.max(0, Math.min(select.selectedIndex, values.length - 1));
  select.replaceChildren(...values.map((value) => make("option", { value }, name(value))));
  select.selectedIndex = place;
}

function draw() {
  const { meaning, name, row, column } = KINDS[find("kind").value];
  const [rows, columns] = names();
  const weights = chosen();
  find("meaning").textContent = meaning;
  const caption = `Attention between ${name}; arrow keys go from cell to cell`;
  const map = heatMap(rows, columns, weights, caption, (down, along) => {
    const said = `“${shown(rows[down])}” ${row} looks at “${shown(columns[along])}” ${column}: `;
    find("readout").replaceChildren(make("bdi", {}, said), make("b", {}, percent(weights[down][along])));
  });
  find("map").replaceChildren(map);
  showTable();
}

// What the rows and the columns are of; when a piece is chosen, those before it are there, and the start.
function names() {
  const source = [...found.source_pieces.slice(0, -1), "(end)"];
  const target = [...found.pieces.slice(0, -1), "(end)"];
  const before = ["(start)", ...found.pieces.slice(0, -1)];
  return { cross: [target, source], encoder: [source, source], decoder: [target, before] }[find("kind").value];
}

function chosen() {
  const heads = found[find("kind").value];
  const head = find("head").value;
  if (head !== MEAN) return heads[Number(head) - 1];
  const mean = (down, along) => heads.reduce((sum, each) => sum + each[down][along], 0) / heads.length;
  return heads[0].map((row, down) => row.map((_, along) => mean(down, along)));
}

function showTable() {
  const place = find("as-table").querySelector("div");
  if (!find("as-table").open || !found) return place.replaceChildren();
  const [rows, columns] = names();
  const body = chosen().map((numbers, down) => {
    const cells = numbers.map((number) => make("td", { className: "number" }, percent(number)));
    return make("tr", {}, make("th", { scope: "row" }, shown(rows[down])), ...cells);
  });
  const heads = ["", ...columns.map(shown)];
  place.replaceChildren(table("Attention in per cent", heads, heads.map((_, at) => (at ? "number" : "")), body));
}
