// Parses process states in Rust's debug format into field names and values.
//
//   RicartAgrawala { clock: LamportClock(3), phase: Waiting { missing: {1, 2} }, deferred: {} }

import { formatTime } from "./time.js";

/**
 * Returns the fields of the outermost struct, or null if the text is not a struct with named fields.
 * @param {string} text
 * @returns {{ name: string, fields: [string, string][] } | null}
 */
export function parse(text) {
  const found = /^([A-Za-z_][\w:]*(?:<[^{}()]*>)?) \{ (.*) \}…?$/s.exec(text);
  if (!found) return null;
  /** @type {[string, string][]} */
  const fields = [];
  for (const part of split(found[2])) {
    const at = part.indexOf(": ");
    if (at < 0) return null;
    fields.push([part.slice(0, at), part.slice(at + 2)]);
  }
  return { name: found[1], fields };
}

/**
 * Shortens a value: writes processes, times, clocks and large sets as the rest of the page does.
 * @param {string} value
 */
function abbreviate(value) {
  return value
    .replace(/\bProcessId\((\d+)\)/g, "p$1")
    .replace(/\b(?:Span|Time)\((\d+)\)/g, (_, nanoseconds) => formatTime(Number(nanoseconds)))
    .replace(/\{\d+(?:, \d+){7,}\}/g, ranges)
    .replace(/\bLamportClock \{ time: (\d+) \}/g, "$1")
    .replace(/\bIdentifier \{ value: (\d+), process: (p\d+) \}/g, "$1.$2")
    .replace(/\bStamp \{ time: (\d+), process: (p\d+) \}/g, "$1.$2");
}

/**
 * Writes a large set with consecutive numbers as ranges: `{0–3, 7}`.
 * @param {string} text
 */
function ranges(text) {
  /** @type {[number, number][]} */
  const found = [];
  for (const number of text.slice(1, -1).split(", ").map(Number)) {
    const last = found[found.length - 1];
    if (last && number === last[1] + 1) last[1] = number;
    else found.push([number, number]);
  }
  const parts = found.map(([from, to]) => (to > from + 1 ? `${from}–${to}` : to > from ? `${from}, ${to}` : `${from}`));
  return `{${parts.join(", ")}}`;
}

/** Hides fields that never change or carry no information. @param {[string, string]} field */
function isShown([name, value]) {
  return name !== "id" && name !== "n" && !value.startsWith("PhantomData");
}

/**
 * Returns the fields of a state. Fields of lower layers are prefixed with the name of the layer.
 * @param {string} text
 * @param {string} [before]
 * @returns {[string, string][]}
 */
export function fields(text, before = "") {
  const parsed = parse(text);
  if (!parsed) return [[before === "" ? "state" : before, text]];
  return parsed.fields.filter(isShown).flatMap(([name, value]) => {
    const layer = parsed.name.startsWith("Stack") || parsed.name.startsWith("Parallel");
    if (layer && parse(value)) return fields(value, before === "" ? name : `${before}.${name}`);
    return [/** @type {[string, string]} */ ([before === "" ? name : `${before}.${name}`, abbreviate(value)])];
  });
}

/**
 * Splits at the commas that are outside brackets and quotes.
 * @param {string} text
 */
function split(text) {
  const parts = [];
  let [depth, start, quoted] = [0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    const c = text[at];
    if (c === '"' && text[at - 1] !== "\\") quoted = !quoted;
    if (quoted) continue;
    if ("{[(".includes(c)) depth += 1;
    else if ("}])".includes(c)) depth -= 1;
    else if (c === "," && depth === 0) {
      parts.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  const last = text.slice(start).trim();
  if (last !== "") parts.push(last);
  return parts;
}
