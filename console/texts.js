// The texts of the page in the user's language.

export const LANGUAGES = /** @type {const} */ ([
  ["en", "English"],
  ["pt", "Português"],
  ["es", "Español"],
]);

/** @type {Record<string, string>} */
let texts = {};
/** English texts, used if a translation is missing. @type {Record<string, string>} */
let fallback = {};

/** Translated descriptions of the algorithms. @type {Record<string, Record<string, Record<string, any>>>} */
let algorithms = {};

/** @type {string} */
export let language = "en";

/** Returns the language that the user chose before, or else the one that the browser prefers. */
export function preferredLanguage() {
  const candidates = [localStorage.getItem("quorate.language"), ...navigator.languages].map((it) => (it ?? "").slice(0, 2));
  return candidates.find((it) => LANGUAGES.some(([known]) => known === it)) ?? "en";
}

/** @param {string} wanted */
export async function setLanguage(wanted) {
  const read = async (/** @type {string} */ it) => (await fetch(`strings/${it}.json`)).json();
  // The catalogue of the server is in English.
  const isEnglish = wanted === "en";
  const english = read("en");
  [fallback, texts, algorithms] = await Promise.all([english, isEnglish ? english : read(wanted), isEnglish ? {} : read("algorithms")]);
  language = wanted;
  localStorage.setItem("quorate.language", wanted);
  document.documentElement.lang = wanted;
}

/**
 * Returns a text with its placeholders filled in.
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
  const text = texts[key] ?? fallback[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/**
 * Returns a text, or `otherwise` if the key has none.
 * @param {string} key
 * @param {string} otherwise
 */
export function tOr(key, otherwise) {
  return key in texts || key in fallback ? t(key) : otherwise;
}

/**
 * Returns the summary of an algorithm.
 * @param {{ name: string, summary: string }} algorithm
 */
export function summary(algorithm) {
  return algorithms[algorithm.name]?.summary?.[language] ?? algorithm.summary;
}

/**
 * Returns the cost of an algorithm in words.
 * @param {{ name: string, cost: string }} algorithm
 */
export function cost(algorithm) {
  return algorithms[algorithm.name]?.cost?.[language] ?? algorithm.cost;
}

/**
 * Returns why a specimen breaks a property; empty if the algorithm is not a specimen.
 * @param {{ name: string, specimen: null | { why: string } }} algorithm
 */
export function specimenReason(algorithm) {
  return algorithms[algorithm.name]?.why?.[language] ?? algorithm.specimen?.why ?? "";
}

/**
 * Returns the steps of an algorithm in pseudo-code.
 * @param {{ name: string, steps: { text: string }[] }} algorithm
 * @returns {string[]}
 */
export function stepTexts(algorithm) {
  return algorithms[algorithm.name]?.steps?.[language] ?? algorithm.steps.map((step) => step.text);
}

/** The words that occur in formulas. Longer phrases come first, because shorter ones are part of them. */
const FORMULA_WORDS = ["less-up-to", "to-abort", "or-more", "at-most", "or", "to"];

/**
 * Translates the words of a formula into the user's language.
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
