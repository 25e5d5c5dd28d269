// Fields for what a signature takes beside the text.

import { find, make } from "./dom.js";

const MOST = 2147483647;
// An empty field means what the model was exported with, where that can be asked for.
const EXPORTED = { empty: -1, placeholder: "as exported" };
const FIELDS = {
  prefix: { label: "Begins with", type: "text", dir: "auto" },
  min_length: { label: "Fewest pieces", min: 0, max: 1000000, step: 1, ...EXPORTED },
  max_length: { label: "Most pieces", min: 0, max: 1000000, step: 1, ...EXPORTED },
  length_penalty: { label: "Length penalty", min: 0, max: 10, step: 0.05, ...EXPORTED },
  repetition_penalty: { label: "Repetition penalty", min: 0.05, max: 10, step: 0.05, ...EXPORTED },
  seed: { label: "Seed", min: 0, max: MOST, step: 1, value: 1 },
  temperature: { label: "Temperature", min: 0, max: 100, step: 0.05, value: 1 },
  top_k: { label: "Top k (0 for all)", min: 0, max: MOST, step: 1, value: 0 },
  top_p: { label: "Top p", min: 0.01, max: 1, step: 0.01, value: 1 },
};

// Shows a field for each of a signature's inputs; those that the page gives by itself are left out.
export function showFields(inputs, given) {
  const names = Object.keys(inputs).filter((name) => !given.includes(name));
  const order = Object.keys(FIELDS);
  names.sort((one, other) => order.indexOf(one) - order.indexOf(other));
  find("fields").replaceChildren(...names.map((name) => field(name, inputs[name])));
  return names.length > 0;
}

// The values of all fields by their names.
export function values() {
  const inputs = [...find("fields").querySelectorAll("input")];
  return Object.fromEntries(inputs.map((input) => [input.name, valueOf(input)]));
}

function field(name, kind) {
  const unknown = { label: name, type: kind === "string" ? "text" : "number", step: "any", required: kind !== "string" };
  const { label, empty, ...properties } = FIELDS[name] ?? unknown;
  const isFree = empty !== undefined || properties.type === "text";
  const input = make("input", { type: "number", name, required: !isFree, ...properties });
  if (empty !== undefined) input.dataset.empty = empty;
  return make("label", {}, label, input);
}

function valueOf(input) {
  if (input.type === "text") return input.value;
  return input.value === "" ? Number(input.dataset.empty) : input.valueAsNumber;
}
