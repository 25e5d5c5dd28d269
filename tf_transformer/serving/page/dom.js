// Elements of the page: found, made, told to people.

export const find = (id) => document.getElementById(id);

// An element with its properties and content; text is never read as HTML.
export function make(tag, properties, ...content) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...content);
  return element;
}

export function show(isShown, ...ids) {
  for (const id of ids) find(id).hidden = !isShown;
}

export function tell(text, isFault = false) {
  find("state").textContent = text;
  find("state").className = isFault ? "fault" : "";
}

export const percent = (share) => `${(100 * share).toFixed(1)} %`;

// A piece for the eye: white space would not be seen.
export const shown = (piece) => piece.replaceAll(" ", "␣").replaceAll("\t", "⇥").replaceAll("\n", "↵");

// Rows of cells under headings; `kinds` are the classes of the columns.
export function table(caption, heads, kinds, rows) {
  const cells = heads.map((text, place) => make("th", { className: kinds[place], scope: "col" }, text));
  const head = make("thead", {}, make("tr", {}, ...cells));
  return make("table", { ariaLabel: caption }, head, make("tbody", {}, ...rows));
}

// One stop of the Tab key for many elements; arrows go from one to the next.
export function roving(container, elements, chosen) {
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };
  elements.forEach((element, place) => (element.tabIndex = place === chosen ? 0 : -1));
  container.onkeydown = (event) => {
    const place = elements.indexOf(event.target);
    if (place < 0 || !(event.key in steps)) return;
    event.preventDefault();
    const isReversed = /Left|Right/.test(event.key) && getComputedStyle(container).direction === "rtl";
    const next = place + (isReversed ? -1 : 1) * steps[event.key];
    const reached = elements[Math.max(0, Math.min(elements.length - 1, next))];
    for (const element of elements) element.tabIndex = element === reached ? 0 : -1;
    reached.focus();
  };
}
