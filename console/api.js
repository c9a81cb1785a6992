// Requests to the lab server. The page sends requests to no other host.

import { t } from "./texts.js";

/** A failed request. The message gives the reason; `key` is the scenario key that caused it, if any. */
export class ApiError extends Error {
  /**
   * @param {string} message
   * @param {string | null} key
   * @param {number} status
   */
  constructor(message, key, status) {
    super(message);
    this.key = key;
    this.status = status;
  }
}

/** Whether a request failed because the server did not answer. @param {unknown} error */
export function isUnreachable(error) {
  return error instanceof ApiError && error.status === 0;
}

/** Pause between two attempts to reach a server that does not answer. */
const RETRY_MS = 2_000;

/**
 * Calls `act` once the server answers again. Returns a function that stops waiting.
 * @param {() => void} act
 */
export function whenReachable(act) {
  const timer = window.setInterval(async () => {
    const response = await fetch("icon.svg", { cache: "no-store" }).catch(() => null);
    if (!response?.ok) return;
    window.clearInterval(timer);
    act();
  }, RETRY_MS);
  return () => window.clearInterval(timer);
}

/**
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<Response>}
 */
async function request(path, options) {
  const response = await fetch(`api/${path}`, options).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new ApiError(t("problem.unreachable"), null, 0);
  });
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw new ApiError(problem.error ?? `${response.status} ${response.statusText}`, problem.key ?? null, response.status);
}

/**
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(path, signal) {
  return (await request(path, { signal })).json();
}

/**
 * @param {string} path
 * @param {any} body
 * @param {AbortSignal} [signal]
 */
async function send(path, body, signal) {
  const headers = { "content-type": "application/json" };
  return request(path, { method: "POST", headers, body: JSON.stringify(body), signal });
}

/**
 * @param {string} path
 * @param {any} body
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function post(path, body, signal) {
  return (await send(path, body, signal)).json();
}

/**
 * @param {string} path
 * @param {any} body
 */
export async function postForText(path, body) {
  return (await send(path, body)).text();
}

/**
 * @param {string} path
 * @param {string} body
 * @returns {Promise<any>}
 */
export async function postText(path, body) {
  const headers = { "content-type": "text/plain; charset=utf-8" };
  return (await request(path, { method: "POST", headers, body })).json();
}

/** @param {string} path */
export async function remove(path) {
  return (await request(path, { method: "DELETE" })).json();
}

/** @type {Promise<Catalogue> | undefined} */
let cataloguePromise;

/**
 * @typedef {{ on: string, doing: string | null, text: string }} Step
 * @typedef {{ name: string, family: string, summary: string, steps: Step[], specimen: null | { breaks: string, why: string },
 *   assumes: string[], guarantees: string[], cost: string, source: string,
 *   traits: { quorums: string[], tree: boolean, rounds: boolean, servers: boolean, bears: boolean, permits: boolean,
 *     conflicts: boolean, kinds: string[] } }} Card
 * @typedef {{ algorithms: Card[], quorums: string[], version: string,
 *   assumptions: { id: string, sentence: string }[],
 *   properties: { id: string, family: string | null, sentence: string }[] }} Catalogue
 */

/**
 * The catalogue of algorithms, requested once and then cached.
 * @returns {Promise<Catalogue>}
 */
export function catalogue() {
  cataloguePromise ??= get("algorithms").catch((error) => {
    // The next call asks again.
    cataloguePromise = undefined;
    throw error;
  });
  return cataloguePromise;
}
