// The text of a lesson, built element by element: a text is never parsed as markup.

import { h } from "../dom.js";

/**
 * @typedef {{ style: "plain" | "emphasis" | "strong" | "code", text: string }} Span
 * @typedef {{ kind: "heading" | "paragraph", spans: Span[] } | { kind: "list", numbered: boolean, items: Span[][] }
 *   | { kind: "code", text: string }} Block
 */

/** Paragraphs, separated by empty lines. @param {string} text */
export function paragraphs(text) {
  return text
    .trim()
    .split(/\n\s*\n/)
    .map((it) => h("p", {}, inline(it.replace(/\s+/g, " "))));
}

/** A text with code between backticks. @param {string} text */
export function inline(text) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? h("code", { text: part }) : part));
}

/** @param {Block[]} blocks */
export function blocks(blocks) {
  return blocks.map((block) => {
    if (block.kind === "code") return h("pre", { class: "lesson-code", tabindex: "0" }, h("code", { text: block.text }));
    if (block.kind === "list") {
      const items = block.items.map((it) => h("li", {}, spans(it)));
      return block.numbered ? h("ol", {}, items) : h("ul", {}, items);
    }
    // The lesson has the heading of the page, so that its own headings are of the second level.
    return block.kind === "heading" ? h("h2", {}, spans(block.spans)) : h("p", {}, spans(block.spans));
  });
}

const TAGS = /** @type {const} */ ({ emphasis: "em", strong: "strong", code: "code" });

/** @param {Span[]} parts */
function spans(parts) {
  return parts.map((it) => (it.style === "plain" ? it.text : h(TAGS[it.style], { text: it.text })));
}
