// The page of a served model: asks the REST interface beside it, and shows what it answers.

const find = (id) => document.getElementById(id);
const model = await (await fetch("page/model.json")).json();
const isPicture = model.task === "classify_images";
const isSampled = "sample" in model.signatures;
const asked = isSampled ? "sample" : "n_best" in model.signatures ? "n_best" : "serving_default";
const hasTag = model.signatures[asked].includes("tag");

// An element with its class and content; text is never read as HTML.
function make(tag, name, ...content) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.append(...content);
  return element;
}

function tell(text, isFault = false) {
  find("state").textContent = text;
  find("state").className = isFault ? "fault" : "";
}

function table(caption, heads, rows) {
  const kinds = ["", "number", ""];
  const cells = heads.map((text, place) => Object.assign(make("th", kinds[place], text), { scope: "col" }));
  const head = make("tr", "", ...cells);
  const found = make("table", "", make("thead", "", head), make("tbody", "", ...rows));
  found.setAttribute("aria-label", caption);
  return found;
}

function hypotheses(row) {
  const texts = [row.text].flat();
  const scores = [row.score].flat();
  const rows = texts.map((text, place) =>
    make("tr", place ? "" : "best", make("td", "words", text), make("td", "number", scores[place].toFixed(4)))
  );
  return table("Answers, best first", ["Answer", "Score"], rows);
}

function labels(row) {
  const places = row.labels.map((_, place) => place);
  places.sort((one, other) => row.probabilities[other] - row.probabilities[one]);
  const rows = places.map((place) => {
    const bar = make("div", "");
    bar.style.width = `${100 * row.probabilities[place]}%`;
    const cells = [
      make("td", "words", row.labels[place]),
      make("td", "number", `${(100 * row.probabilities[place]).toFixed(1)} %`),
      make("td", "bar", bar),
    ];
    cells[2].setAttribute("aria-hidden", "true");
    return make("tr", row.labels[place] === row.label ? "best" : "", ...cells);
  });
  return table("Labels, the most probable first", ["Label", "Probability", ""], rows);
}

async function pictureOf(file) {
  const url = await new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(file);
  });
  return { b64: url.slice(url.indexOf(",") + 1) };
}

async function request() {
  if (isPicture) {
    const [file] = find("picture").files;
    if (!file) throw new Error("Choose a picture first.");
    return { instances: [await pictureOf(file)] };
  }
  const text = find("text").value;
  const names = isSampled ? ["seed", "temperature", "top_k", "top_p"] : [];
  const options = names.map((name) => [name, find(name).valueAsNumber]);
  if (hasTag) options.push(["tag", find("tag").value]);
  return { signature_name: asked, instances: [{ text, ...Object.fromEntries(options) }] };
}

async function answer() {
  const started = performance.now();
  const body = JSON.stringify(await request());
  const path = `v1/models/${encodeURIComponent(model.name)}:predict`;
  const response = await fetch(path, { method: "POST", body });
  const found = await response.json();
  if (!response.ok) throw new Error(found.error);
  const [row] = found.predictions;
  if (row.label === "") return tell("No answer: there is nothing to answer to.");
  find("answer").replaceChildren(row.labels ? labels(row) : hypotheses(row));
  const best = row.label ?? [row.text].flat()[0];
  tell(`${best.length > 80 ? `${best.slice(0, 80)} …` : best} (${Math.round(performance.now() - started)} ms)`);
}

let isBusy = false;
async function ask(event) {
  event.preventDefault();
  if (isBusy || !find("form").reportValidity()) return;
  isBusy = true;
  find("ask").setAttribute("aria-disabled", "true");
  find("answer").replaceChildren();
  tell("Asked; the answer is on its way.");
  try {
    await answer();
  } catch (fault) {
    tell(fault.message, true);
  }
  find("ask").removeAttribute("aria-disabled");
  isBusy = false;
}

document.title = find("name").textContent = model.name;
find("facts").textContent = `${model.task.replaceAll("_", " ")}, version ${model.version}`;
for (const id of ["text", "text-label", "hint"]) find(id).hidden = isPicture;
for (const id of ["picture", "picture-label"]) find(id).hidden = !isPicture;
for (const id of ["tag", "tag-label"]) find(id).hidden = !hasTag;
find("options").hidden = !isSampled;
if (model.task === "classify_vectors") {
  find("form").hidden = true;
  tell("Series of vectors are asked by REST or gRPC.");
}
find("form").addEventListener("submit", ask);
find("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask(event);
});
find("form").dataset.ready = "true";
