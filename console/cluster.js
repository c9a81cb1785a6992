// Requests to a node of the cluster.

const TOKEN_KEY = "quorate.token";

/** A request to which the node answered with an error status. */
export class ClusterError extends Error {
  /**
   * @param {string} message
   * @param {number} status
   */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** Stores the bearer token for later requests, until the tab is closed. @param {string} token */
export function setToken(token) {
  sessionStorage.setItem(TOKEN_KEY, token);
}

/**
 * @param {string} path
 * @param {AbortSignal} signal
 */
async function request(path, signal) {
  const token = sessionStorage.getItem(TOKEN_KEY);
  /** @type {Record<string, string>} */
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const response = await fetch(`v1/${path}`, { signal, headers });
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw new ClusterError(problem.error ?? `${response.status} ${response.statusText}`, response.status);
}

/**
 * @param {string} path
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export async function getJson(path, signal) {
  return (await request(path, signal)).json();
}

/**
 * Returns the lock requests of all pages of the list.
 * @param {AbortSignal} signal
 * @returns {Promise<any[]>}
 */
export async function listLocks(signal) {
  const requests = [];
  for (let after = ""; ; ) {
    const page = await getJson(`locks${after}`, signal);
    requests.push(...page.requests);
    if (!page.next) return requests;
    after = `?after=${page.next}`;
  }
}

/**
 * Calls `onChange` for every change until it is aborted or the node closes the stream. The browser's `EventSource` is not
 * used because it cannot send a token.
 * @param {AbortSignal} signal
 * @param {(change: any) => void} onChange
 */
export async function watch(signal, onChange) {
  const { body } = await request("watch?prefix=", signal);
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
