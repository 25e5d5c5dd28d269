// A translation: the answers of the beam, the pieces of one, its attention, and going on from another piece.

import { showAttention } from "./attention.js";
import { find, show } from "./dom.js";
import { hypotheses } from "./hypotheses.js";
import { values } from "./options.js";
import { showPieces } from "./pieces.js";
import { model, predict } from "./server.js";
import { turn } from "./turn.js";

const EXPORTED = { prefix: "", min_length: -1, max_length: -1, length_penalty: -1, repetition_penalty: -1 };
// The last layer but one tells best which piece came from where; the server counts from the end.
const ALIGNING = -2;
const PADDING = 0;
const canInspect = "inspect" in model.signatures;

let layer = ALIGNING;

// Answers an example, its text and tag, by a signature.
export async function translate(example, signature, signal) {
  if (!example.text.trim()) throw new Error("There is no text to translate.");
  const options = signature === "sample" || signature === "explore" ? values() : {};
  return shownAnswers(example, await answers(example, signature, options, [], signal), 0, "", signal);
}

// What the answer begins with, or is; for the next turn.
function forced(example, ids, ends) {
  const told = `${ends ? "Ends behind" : "Begins with"} ${ids.length} given piece${ids.length === 1 ? "" : "s"}.`;
  return async (signal) => {
    if (ends) {
      const found = await inspection(example, { ids }, signal);
      const row = { text: found.text, score: found.score, ids };
      return (await shownAnswers(example, [row], ids.length, told, signal)) || "(nothing)";
    }
    const options = find("way").value === "sample" ? EXPORTED : { ...values(), prefix: "" };
    const rows = await answers(example, "explore", options, ids, signal);
    return shownAnswers(example, rows, ids.length, told, signal);
  };
}

async function answers(example, signature, options, ids, signal) {
  if (signature === "explore") options = { ...options, prefix_ids: ids.join(" ") };
  const row = await predict(signature, { ...example, ...options }, signal);
  if (!Array.isArray(row.text)) return [row];
  const pieces = (place) => row.ids?.[place].filter((id) => id !== PADDING);
  const rows = row.text.map((text, place) => ({ text, score: row.score[place], ids: pieces(place) }));
  return rows.filter((each, place) => place === 0 || each.score !== null); // places without an answer
}

// Shows answers, of which so many pieces were given and not found; `told` says so.
async function shownAnswers(example, rows, numGiven, told, signal) {
  const choose = (row) => turn((next) => inspected(example, row, numGiven, next));
  if (signal.aborted) return "";
  find("answer").replaceChildren(hypotheses(rows, canInspect ? choose : null));
  show(told !== "", "forced");
  find("forced").querySelector("span").textContent = told;
  if (canInspect) await inspected(example, rows[0], numGiven, signal);
  return rows[0].text;
}

async function inspected(example, row, numGiven, signal) {
  const found = await inspection(example, row, signal);
  if (signal.aborted) return "";
  showPieces(found, numGiven, (ids, ends) => turn(forced(example, ids, ends)));
  showLayer(example, row, found);
  return row.text;
}

function showLayer(example, row, found) {
  showAttention(found, layer, (number) => {
    layer = number;
    turn(async (signal) => {
      const other = await inspection(example, row, signal);
      if (!signal.aborted) showLayer(example, row, other);
      return row.text;
    });
  });
}

// All that the model says of an answer, by its pieces where they are known.
function inspection(example, { text, ids }, signal) {
  const target = { target: ids ? "" : text, target_ids: (ids ?? []).join(" ") };
  return predict("inspect", { ...example, ...target, layer }, signal);
}
