// The lessons of the course, as the server lists them.

import { get } from "../api.js";
import { language, tOr } from "../texts.js";

/**
 * @typedef {Record<string, string>} Texts a text by language
 * @typedef {{ text: Texts, right?: boolean, why: Texts }} ChoiceOption
 * @typedef {{ kind: "choice", ask: Texts, options: ChoiceOption[] }} Choice
 * @typedef {{ kind: "predict", ask: Texts, value: string, unit: "plain" | "process" | "ms" | "property", at: string | null, why: Texts }} Predict
 * @typedef {{ kind: "break", ask: Texts, property: string, within: boolean, hints: Texts[], why: Texts }} Break
 * @typedef {Choice | Predict | Break} Question
 * @typedef {{ chapter: string, scenario: string, stamps: boolean, title: Texts, text: Texts, look: Texts, question: Texts,
 *   answer: Texts, questions: Question[], body: import("./lesson-text.js").Block[] }} Lesson
 * @typedef {{ name: string, own: boolean, lesson: Lesson, keys: import("../link.js").Scenario, packed?: string }} NamedLesson
 * @typedef {{ lessons: NamedLesson[], problem: string | null }} Course
 * @typedef {null | { value?: number | string, solution?: import("../link.js").Scenario }} Answer
 */

/** @returns {Promise<Course>} */
export function course() {
  return get("lessons");
}

/** The answers to the questions of a lesson, which the server computes from its run. @param {string} name @returns {Promise<Answer[]>} */
export function answersOf(name) {
  return get(`lessons/${encodeURIComponent(name)}/answers`);
}

/** Returns a text in the user's language, or else in English, or else in any. @param {Texts} texts */
export function localized(texts) {
  return texts[language] ?? texts.en ?? Object.values(texts)[0] ?? "";
}

/** @param {string} name */
export function chapterName(name) {
  return tOr(`chapter.${name}`, name);
}
