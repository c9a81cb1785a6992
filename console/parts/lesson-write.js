// A page on which a lesson is written, tried and turned into an address.

import { fill, h } from "../dom.js";
import { t } from "../texts.js";
import { pack, parseShared, unpack } from "./lesson-shared.js";

const SCENARIO = `algorithm = "central"
processes = 4
request = ["1@0", "2@0.2ms", "3@4ms"]
`;
const TEXT = `+++
title = "Two at the door"

[[questions]]
kind = "predict"
ask = "Which process enters second?"
value = "order.1"
unit = "process"
at = "1ms"
why = "p2: its request is the second to arrive at p0."
+++
The server \`p0\` keeps a queue and grants in the *order of arrival*.
`;

/**
 * @param {HTMLElement} main
 * @param {string} packed a lesson to begin with, as in an address
 */
export async function writePage(main, packed) {
  const known = packed === "" ? null : await unpack(packed);
  const area = (/** @type {string} */ id, /** @type {number} */ rows, /** @type {string} */ value) =>
    h("textarea", { id, class: "toml", rows, spellcheck: id === "lesson-text" ? "true" : "false", value });
  const text = area("lesson-text", 18, known?.text ?? TEXT);
  const scenario = area("lesson-scenario", 8, known?.scenario ?? SCENARIO);
  const problem = h("div", { role: "alert" });
  const open = async () => {
    const source = { text: text.value, scenario: scenario.value };
    try {
      await parseShared(source);
      location.hash = `#/lessons/shared?${await pack(source)}`;
    } catch (error) {
      fill(problem, h("p", { class: "problem", lang: "en", text: /** @type {Error} */ (error).message }));
    }
  };
  fill(
    main,
    h("h1", { text: t("lessons.write") }),
    h("p", { class: "lead", text: t("lessons.write-lead") }),
    h("label", { class: "field", for: "lesson-text" }, h("span", { text: t("lessons.write-text") })),
    text,
    h("label", { class: "field", for: "lesson-scenario" }, h("span", { text: t("lessons.write-scenario") })),
    scenario,
    problem,
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", class: "primary", on: { click: open } }, t("lessons.write-show")),
      h("a", { class: "button", href: "#/lessons" }, t("lessons.back")),
    ),
  );
}
