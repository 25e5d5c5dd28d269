// The REST interface beside the page.

export const model = await (await fetch("page/model.json")).json();

// What a signature says of one example; a signature with one result gives it without its name.
export async function predict(signature, example, signal) {
  const path = `v1/models/${encodeURIComponent(model.name)}:predict`;
  const body = JSON.stringify({ signature_name: signature, instances: [example] });
  const response = await fetch(path, { method: "POST", body, signal }).catch((fault) => {
    throw signal?.aborted ? fault : new Error("The server cannot be reached.");
  });
  const content = await response.text();
  const found = parsed(content);
  if (!response.ok) throw new Error(found?.error ?? `The server answers with status ${response.status}.`);
  return found.predictions[0];
}

// As TensorFlow Serving does, the server writes numbers that JSON does not have; here they are null.
function parsed(content) {
  const words = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g;
  try {
    return JSON.parse(content.replace(words, (word) => (word.startsWith('"') ? word : "null")));
  } catch {
    return null;
  }
}
