// Requests to a node of the cluster.

const TOKEN_KEY = "quorate.token";

/** Time after which a node that has not answered counts as one that does not. */
const REQUEST_MS = 5_000;

/** Maximum number of pages of a list of locks that are requested at once. */
const PAGES_MOST = 20;

/** A request to which the node answered with an error status, or did not answer (status 0). */
export class ClusterError extends Error {
  /**
   * @param {string} message
   * @param {number} status
   * @param {string} [code]
   */
  constructor(message, status, code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Stores the bearer token for later requests, until the tab is closed. @param {string} token */
export function setToken(token) {
  sessionStorage.setItem(TOKEN_KEY, token);
}

/** Returns the address of the page of a lock or an election. @param {string} kind @param {string} name */
export function lockAddress(kind, name) {
  return `#/cluster/lock?${new URLSearchParams({ kind, name })}`;
}

/** @param {AbortSignal} signal */
function withTimeout(signal) {
  return AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]);
}

/**
 * @param {string} path
 * @param {AbortSignal} signal
 * @param {any} [body] is sent as JSON with POST
 */
async function request(path, signal, body) {
  const token = sessionStorage.getItem(TOKEN_KEY);
  /** @type {Record<string, string>} */
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  if (body !== undefined) headers["content-type"] = "application/json";
  const method = body === undefined ? "GET" : "POST";
  const options = { signal, headers, method, body: body === undefined ? undefined : JSON.stringify(body) };
  const response = await fetch(path, options).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new ClusterError(error.message, 0);
  });
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  // A gateway answers in place of a node that does not.
  const status = [502, 504].includes(response.status) ? 0 : response.status;
  throw new ClusterError(problem.error ?? `${response.status} ${response.statusText}`, status, problem.code);
}

/**
 * @param {string} path
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export async function getJson(path, signal) {
  return (await request(`v1/${path}`, withTimeout(signal))).json();
}

/**
 * Sends JSON; the answer is `null` if it has no content.
 * @param {string} path
 * @param {any} body
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export async function postJson(path, body, signal) {
  const response = await request(`v1/${path}`, withTimeout(signal), body);
  return response.status === 204 ? null : response.json();
}

/** Returns the metrics of the node as text. @param {AbortSignal} signal */
export async function metricsText(signal) {
  return (await request("metrics", withTimeout(signal))).text();
}

/**
 * Returns the lock requests of all pages of the lists of these prefixes, up to a limit, and the nodes that did not answer.
 * @param {string[]} prefixes
 * @param {AbortSignal} signal
 * @returns {Promise<{ requests: any[], silent: number[], more: boolean }>}
 */
export async function listLocks(prefixes, signal) {
  const requests = [];
  const silent = new Set();
  let pages = 0;
  for (const prefix of prefixes) {
    let after = "";
    do {
      if (pages >= PAGES_MOST) return { requests, silent: [...silent], more: true };
      pages += 1;
      const page = await getJson(`locks?${new URLSearchParams({ prefix, ...(after && { after }) })}`, signal);
      requests.push(...page.requests);
      for (const node of page.silent ?? []) silent.add(node);
      after = page.next ?? "";
    } while (after !== "");
  }
  return { requests, silent: [...silent], more: false };
}

/**
 * Calls `onChange` for every change until it is aborted or the node closes the stream. The browser's `EventSource` is not
 * used because it cannot send a token.
 * @param {string} prefix
 * @param {AbortSignal} signal
 * @param {(change: any) => void} onChange
 */
export async function watch(prefix, signal, onChange) {
  const { body } = await request(`v1/watch?${new URLSearchParams({ prefix })}`, signal);
  if (!body) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const [, data] = /^event: changed\ndata: (.*)$/s.exec(event) ?? [];
      if (data) onChange(JSON.parse(data));
    }
  }
}
