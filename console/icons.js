// Icons for buttons. They are SVG paths because fonts differ in the symbols that they contain.

import { s } from "./dom.js";

/** @type {Record<string, string>} */
const PATHS = {
  first: "M4 3v10M13 3L6.5 8 13 13z",
  back: "M11 3L4.5 8 11 13z",
  play: "M4 2.5L13.5 8 4 13.5z",
  pause: "M4 3h3v10H4zM9.5 3h3v10h-3z",
  forward: "M5 3l6.5 5L5 13z",
  last: "M12 3v10M3 3l6.5 5L3 13z",
  closer: "M7 3.2a3.8 3.8 0 1 0 0 7.6 3.8 3.8 0 0 0 0-7.6M10 10l3.5 3.5M5.2 7h3.6M7 5.2v3.6",
  wider: "M7 3.2a3.8 3.8 0 1 0 0 7.6 3.8 3.8 0 0 0 0-7.6M10 10l3.5 3.5M5.2 7h3.6",
  all: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  fold: "M3 3h10M3 13h10M8 4.5v3M8 11.5v-3M6 6l2 2 2-2M6 10l2-2 2 2",
  present: "M2 3h12v8H2zM8 11v2.5M5 14h6",
  crash: "M4 4l8 8M12 4l-8 8",
  recover: "M12.8 8A4.8 4.8 0 1 1 11 4.2M11.3 1.5v3h-3",
  cut: "M2 8h3.5M10.5 8H14M6.5 5l3 6",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M12.8 3.2l-1.1 1.1M4.3 11.7l-1.1 1.1",
  moon: "M13 9.6A5.4 5.4 0 0 1 6.4 3 5.4 5.4 0 1 0 13 9.6z",
};
const SOLID = new Set(["first", "back", "play", "pause", "forward", "last"]);

/** @param {string} name */
export function icon(name) {
  const drawing = s("svg", {
    viewBox: "0 0 16 16",
    class: SOLID.has(name) ? "icon solid" : "icon",
    "aria-hidden": "true",
  });
  drawing.append(s("path", { d: PATHS[name] ?? "" }));
  return drawing;
}
