// Lessons that an address contains: the text and the scenario, compressed.
//
//   #/lessons/shared?q1ZKSUlR...&algorithm=central
//
// The first part of the query is the lesson; a changed scenario follows it.

import { post } from "../api.js";

/** Maximum number of characters of the two texts of a lesson in an address. */
const CHARS_MOST = 400_000;

/**
 * @typedef {{ text: string, scenario: string }} Source
 * @typedef {{ lesson: import("./lesson-course.js").NamedLesson, answers: import("./lesson-course.js").Answer[] }} Shared
 */

/** @param {Source} source */
export async function pack(source) {
  const bytes = new TextEncoder().encode(JSON.stringify([source.text, source.scenario]));
  const packed = await collect(new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate-raw")), Infinity);
  let text = "";
  for (const byte of packed) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Reads a lesson of an address; null if it is none or too large. @param {string} packed @returns {Promise<Source | null>} */
export async function unpack(packed) {
  try {
    const text = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (it) => it.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const parts = JSON.parse(new TextDecoder().decode(await collect(stream, CHARS_MOST)));
    const [lesson, scenario] = Array.isArray(parts) ? parts : [];
    return typeof lesson === "string" && typeof scenario === "string" ? { text: lesson, scenario } : null;
  } catch {
    return null;
  }
}

/**
 * Collects the bytes of a stream. A few bytes can decompress to very many, so that there is a limit.
 * @param {ReadableStream<Uint8Array>} stream
 * @param {number} most
 */
async function collect(stream, most) {
  const reader = stream.getReader();
  /** @type {Uint8Array[]} */
  const chunks = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      await reader.cancel();
      throw new RangeError("the lesson is too large");
    }
    chunks.push(value);
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

/** @param {Source} source @returns {Promise<Shared>} */
export function parseShared(source) {
  return post("lessons/shared", source);
}

/** Name under which the progress in a shared lesson is kept. @param {string} packed */
export function progressName(packed) {
  let hash = 0x811c9dc5;
  for (const char of packed) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193) >>> 0;
  return `shared:${hash.toString(16)}`;
}
