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

/** What algorithms do, in other languages than that in which they say it themselves. @type {Record<string, Record<string, string>>} */
let summaries = {};

/** @type {string} */
export let language = "en";

/** The language that was chosen before, or that the browser prefers. */
export function preferred() {
  const said = [localStorage.getItem("quorate.language"), ...navigator.languages].map((it) => (it ?? "").slice(0, 2));
  return said.find((it) => LANGUAGES.some(([known]) => known === it)) ?? "en";
}

/** @param {string} wanted */
export async function speak(wanted) {
  const read = async (/** @type {string} */ it) => (await fetch(`strings/${it}.json`)).json();
  [fallback, texts, summaries] = await Promise.all([read("en"), read(wanted), read("algorithms")]);
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
  return summaries[algorithm.name]?.[language] ?? algorithm.summary;
}

/** @param {number} value */
export function number(value) {
  return value.toLocaleString(language);
}
