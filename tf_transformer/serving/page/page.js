// The page of a served model: asks the REST interface beside it, and shows what it answers.

import { prepareAttention } from "./attention.js";
import { find, make, show } from "./dom.js";
import { hypotheses } from "./hypotheses.js";
import { labels } from "./labels.js";
import { showFields, values } from "./options.js";
import { chosenPicture, contentOf, lookedAt } from "./picture.js";
import { model, predict } from "./server.js";
import { translate } from "./translation.js";
import { turn } from "./turn.js";

const BY_PAGE = ["text", "tag", "image", "prefix_ids"];
const asked = ["explore", "n_best", "sample", "serving_default"].find((name) => name in model.signatures);
const inputs = model.signatures[asked] ?? {};
const isPicture = "image" in inputs;
const isTranslation = model.task === "translate";
const canDraw = isTranslation && asked !== "sample" && "sample" in model.signatures;

const answer = isPicture ? aboutPicture : isTranslation ? translation : aboutText;

function typed() {
  // Where a model reads several columns, each is a line here and has a tab behind it there.
  const text = model.columns > 1 ? find("text").value.split("\n").join("\t") : find("text").value;
  return "tag" in inputs ? { text, tag: find("tag").value } : { text };
}

function translation(signal) {
  return translate(typed(), find("way").value || asked, signal);
}

async function aboutText(signal) {
  const found = await predict(asked, { ...typed(), ...values() }, signal);
  const row = typeof found === "string" ? { text: found } : found;
  if (row.label === "") return "";
  find("answer").replaceChildren(...shown(row));
  return row.label ?? row.text ?? "Answered";
}

async function aboutPicture(signal) {
  const address = await chosenPicture();
  const row = await predict(asked, { image: contentOf(address), ...values() }, signal);
  const figure = await lookedAt(address, signal);
  if (!signal.aborted) find("answer").replaceChildren(...shown(row), figure);
  return row.label;
}

function shown(row) {
  if (row.labels) return [labels(row)];
  if (row.text !== undefined) return [hypotheses([row])];
  return [make("pre", {}, JSON.stringify(row, null, 1))];
}

function ask(event) {
  event.preventDefault();
  if (!find("form").reportValidity()) return;
  find("answer").replaceChildren();
  show(false, "pieces", "attention", "forced");
  turn(answer);
}

function showOptions() {
  const signature = find("way").value || asked;
  const hasFields = showFields(model.signatures[signature] ?? {}, BY_PAGE);
  show(hasFields || canDraw, "options");
}

function showForm() {
  const hasText = "text" in inputs;
  show(hasText, "text", "text-label", "hint");
  find("main").classList.toggle("wide", isTranslation && "inspect" in model.signatures);
  show(isPicture, "picture", "picture-label");
  show("tag" in inputs, "tag", "tag-label");
  find("tags").replaceChildren(...model.tags.map((value) => make("option", { value })));
  if (model.columns > 1) find("text-label").textContent = `Text, its ${model.columns} columns a line each`;
  find("way").options[0].value = asked ?? "";
  if (!canDraw) find("way").replaceChildren();
  show(canDraw, "way-label");
  find("options").open = asked === "sample";
  showOptions();
  if (hasText || isPicture) return;
  show(false, "form");
  find("state").textContent = `This model takes ${Object.keys(inputs).join(" and ") || "what is not known here"}, for which there are no fields here: ask it by REST or gRPC.`;
}

function tellLacks() {
  const lacks = isTranslation ? ["n_best", "explore", "inspect"].filter((name) => !(name in model.signatures)) : [];
  show(lacks.length > 0, "lacking");
  find("lacking").textContent = `This export has no ${lacks.join(", no ")}: its pieces, their probabilities and its attention cannot all be shown. One that is exported again from its run has them.`;
}

document.title = find("name").textContent = model.name;
find("facts").textContent = `${model.task.replaceAll("_", " ")}, version ${model.version}`;
showForm();
tellLacks();
prepareAttention();
find("way").addEventListener("change", showOptions);
find("form").addEventListener("submit", ask);
find("forced").querySelector("button").addEventListener("click", () => find("form").requestSubmit());
find("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask(event);
});
find("form").dataset.ready = "true";
