// States of processes, as the program prints them, taken apart into names and values.
//
//   RicartAgrawala { clock: LamportClock(3), phase: Waiting { missing: {1, 2} }, deferred: {} }

import { formatTime } from "./time.js";

/**
 * The fields of the outermost thing; none if it has no names.
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
 * The same in fewer words: processes and times as they are written elsewhere.
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
 * A large set, with its neighbours together: `{0–3, 7}`.
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

/** What never changes, or tells nothing. @param {[string, string]} field */
function isShown([name, value]) {
  return name !== "id" && name !== "n" && !value.startsWith("PhantomData");
}

/**
 * The fields of a state, those of layers below it with their names before them.
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
 * Splits at the commas that are not inside anything.
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
