// Downloads of files that are generated in the page.

import { h } from "./dom.js";

/**
 * @param {string} name
 * @param {Blob} blob
 */
function save(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * @param {string} name
 * @param {string} text
 * @param {string} [type]
 */
export function saveText(name, text, type = "text/plain") {
  save(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

/**
 * Saves an SVG as a PNG with twice the given width and height.
 * @param {string} name
 * @param {string} svg
 * @param {number} width
 * @param {number} height
 */
export async function savePng(name, svg, width, height) {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  const image = new Image();
  await new Promise((resolve, reject) => {
    image.onload = resolve;
    image.onerror = () => reject(new Error("the drawing cannot be made into pixels"));
    image.src = url;
  });
  const canvas = h("canvas");
  canvas.width = width * 2;
  canvas.height = height * 2;
  const context = canvas.getContext("2d");
  context?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  if (blob) save(name, blob);
}
