// Everything the page says, in the reader's language.

export const LANGUAGES = /** @type {const} */ ([
  ["en", "English"],
  ["pt", "Português"],
  ["es", "Español"],
]);

/** @type {Record<string, string>} */
let texts = {};
/** What is said where a language says nothing. @type {Record<string, string>} */
let fallback = {};

/** What algorithms say of themselves, in other languages. @type {Record<string, Record<string, Record<string, string>>>} */
let algorithms = {};

/** @type {string} */
export let language = "en";

/** The language that was chosen before, or that the browser prefers. */
export function preferredLanguage() {
  const candidates = [localStorage.getItem("quorate.language"), ...navigator.languages].map((it) => (it ?? "").slice(0, 2));
  return candidates.find((it) => LANGUAGES.some(([known]) => known === it)) ?? "en";
}

/** @param {string} wanted */
export async function setLanguage(wanted) {
  const read = async (/** @type {string} */ it) => (await fetch(`strings/${it}.json`)).json();
  [fallback, texts, algorithms] = await Promise.all([read("en"), read(wanted), read("algorithms")]);
  language = wanted;
  localStorage.setItem("quorate.language", wanted);
  document.documentElement.lang = wanted;
}

/**
 * What the page says, with what is to be filled in.
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
  const text = texts[key] ?? fallback[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/**
 * The same where there may be no such text.
 * @param {string} key
 * @param {string} otherwise
 */
export function tOr(key, otherwise) {
  return key in texts || key in fallback ? t(key) : otherwise;
}

/**
 * What an algorithm does.
 * @param {{ name: string, summary: string }} algorithm
 */
export function summary(algorithm) {
  return algorithms[algorithm.name]?.summary?.[language] ?? algorithm.summary;
}

/**
 * What it costs.
 * @param {{ name: string, cost: string }} algorithm
 */
export function cost(algorithm) {
  return algorithms[algorithm.name]?.cost?.[language] ?? algorithm.cost;
}

/**
 * Why it breaks what it should promise, if it is one that does.
 * @param {{ name: string, specimen: null | { why: string } }} algorithm
 */
export function specimenReason(algorithm) {
  return algorithms[algorithm.name]?.why?.[language] ?? algorithm.specimen?.why ?? "";
}

/** The words that stand in formulas, longer ones first. */
const FORMULA_WORDS = ["less-up-to", "to-abort", "or-more", "at-most", "or", "to"];

/**
 * A formula with its words in the reader's language.
 * @param {string} text
 */
export function formula(text) {
  return FORMULA_WORDS.reduce((result, key) => {
    const english = fallback[`formula.${key}`];
    return result.replaceAll(new RegExp(`\\b${english}\\b`, "g"), t(`formula.${key}`));
  }, text);
}

/** @param {number} value */
export function number(value) {
  return value.toLocaleString(language);
}
