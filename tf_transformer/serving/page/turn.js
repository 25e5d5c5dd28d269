// One thing at a time: what is asked last is answered, whatever is still under way.

import { find, tell } from "./dom.js";

const MOST = 80;

let current = new AbortController();

// Does work, which gets a signal that it is wanted no more, and tells the answer that it returns, or why it
// failed.
export async function turn(work) {
  const started = performance.now();
  current.abort();
  const mine = (current = new AbortController());
  find("answer").ariaBusy = "true";
  tell("Asked; the answer is on its way.");
  try {
    const told = await work(mine.signal);
    if (!mine.signal.aborted) tell(summary(told, performance.now() - started));
  } catch (fault) {
    if (!mine.signal.aborted) tell(fault.message, true);
  }
  if (mine === current) find("answer").ariaBusy = null;
}

function summary(answer, milliseconds) {
  if (answer === "") return "No answer: there is nothing to answer to.";
  const short = answer.length > MOST ? `${answer.slice(0, MOST)} …` : answer;
  return `${short} (${Math.round(milliseconds)} ms)`;
}
