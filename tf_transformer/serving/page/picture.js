// A picture that is asked about, and where the model looked.

import { find, make } from "./dom.js";
import { model, predict } from "./server.js";

const FITS = { crop: "cover", pad: "contain" };

// The chosen file as an address that holds all of it.
export async function chosenPicture() {
  const [file] = find("picture").files;
  if (!file) throw new Error("Choose a picture first.");
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.onerror = () => failed(new Error("The picture cannot be read."));
    reader.readAsDataURL(file);
  });
}

export const contentOf = (address) => ({ b64: address.slice(address.indexOf(",") + 1) });

// The picture, coloured where the model looked.
export async function lookedAt(address, signal) {
  const { height, width, resize } = model.image_form;
  const picture = make("img", { src: address, alt: "The picture as the model sees it" });
  const frame = make("div", { className: "frame" }, picture);
  if (height && width) frame.style.aspectRatio = `${width} / ${height}`;
  picture.style.objectFit = FITS[resize] ?? "fill";
  const figure = make("figure", {}, frame);
  if (!("relevance" in model.signatures)) return figure;
  const shares = await predict("relevance", { image: contentOf(address) }, signal);
  const shade = frame.appendChild(shading(shares));
  const shown = make("input", { type: "checkbox", checked: true });
  shown.addEventListener("change", () => (shade.style.display = shown.checked ? "" : "none"));
  figure.append(make("figcaption", {}, make("label", {}, shown, "coloured where the model looked")));
  return figure;
}

function shading(shares) {
  const most = Math.max(...shares.flat());
  const canvas = make("canvas", { width: shares[0].length, height: shares.length, ariaHidden: "true" });
  const brush = canvas.getContext("2d");
  shares.forEach((row, down) =>
    row.forEach((share, along) => {
      brush.fillStyle = `rgb(255 140 0 / ${(0.8 * share) / most})`; // seen on black, on white and on photographs
      brush.fillRect(along, down, 1, 1);
    })
  );
  return canvas;
}
