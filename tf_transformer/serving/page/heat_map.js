// Numbers from 0 on as a picture: the stronger the colour of a cell, the greater its number.

import { make, shown } from "./dom.js";

const LEVELS = 24;
const FEW = 14;
const STEPS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };

// Draws `numbers[row][column]`; `point(row, column)` is told of the cell where mouse or keyboard are.
export function heatMap(rows, columns, numbers, caption, point) {
  const above = make("div", { className: "columns", ariaHidden: "true" }, ...columns.map(label));
  const beside = make("div", { className: "rows", ariaHidden: "true" }, ...rows.map(label));
  const cells = drawing("svg", { viewBox: `0 0 ${columns.length} ${rows.length}`, preserveAspectRatio: "none" });
  cells.append(...levels(numbers));
  const row = cells.appendChild(drawing("rect", { class: "band", width: columns.length, height: 1 }));
  const column = cells.appendChild(drawing("rect", { class: "band", width: 1, height: rows.length }));
  const cursor = cells.appendChild(drawing("rect", { class: "cursor", width: 1, height: 1 }));
  const map = make("div", { className: "map", tabIndex: 0, ariaLabel: caption, ariaRoleDescription: "heat map" });
  map.setAttribute("role", "application"); // so that arrows reach it through a screen reader
  map.setAttribute("aria-describedby", "readout");
  map.append(make("div", { className: "corner" }), above, beside, cells);
  map.classList.toggle("small", columns.length <= FEW);
  map.style.setProperty("--columns", columns.length);
  map.style.setProperty("--rows", rows.length);
  const place = [0, 0];

  function go(newRow, newColumn) {
    place[0] = Math.max(0, Math.min(rows.length - 1, newRow));
    place[1] = Math.max(0, Math.min(columns.length - 1, newColumn));
    for (const moved of [row, cursor]) moved.setAttribute("y", place[0]);
    for (const moved of [column, cursor]) moved.setAttribute("x", place[1]);
    for (const lit of map.querySelectorAll(".lit")) lit.classList.remove("lit");
    beside.children[place[0]].classList.add("lit");
    above.children[place[1]].classList.add("lit");
    point(...place);
  }

  function follow(event) {
    const box = cells.getBoundingClientRect();
    const down = (event.clientY - box.top) / box.height;
    const along = (event.clientX - box.left) / box.width;
    const found = [Math.floor(down * rows.length), Math.floor(along * columns.length)];
    if (found[0] !== place[0] || found[1] !== place[1]) go(...found);
  }

  cells.addEventListener("pointermove", follow);
  cells.addEventListener("pointerdown", follow);
  map.addEventListener("keydown", (event) => {
    const ends = { Home: [place[0], 0], End: [place[0], columns.length - 1] };
    const step = STEPS[event.key];
    const next = step ? [place[0] + step[0], place[1] + step[1]] : ends[event.key];
    if (!next || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    go(...next);
    cursor.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  go(0, numbers[0].indexOf(Math.max(...numbers[0])));
  return map;
}

// One path for all cells of about one number, since a cell each would be too many for long texts.
function levels(numbers) {
  const most = Math.max(...numbers.map((row) => Math.max(...row))) || 1;
  const paths = Array.from({ length: LEVELS + 1 }, () => "");
  numbers.forEach((row, down) =>
    row.forEach((number, along) => (paths[Math.round((LEVELS * number) / most)] += `M${along} ${down}h1v1h-1z`))
  );
  const seen = paths.map((path, level) => drawing("path", { d: path, "fill-opacity": level / LEVELS }));
  return seen.slice(1);
}

function drawing(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function label(text) {
  return make("span", { title: text }, make("bdi", {}, shown(text)));
}
