// The state of the cluster as one node knows it: polled, and kept when the node does not answer or has lost its quorum.

import { ClusterError, getJson, listLocks, metricsText, watch } from "./cluster.js";
import { lockRows } from "./lock-names.js";
import { parseMetrics } from "./metrics.js";

/**
 * @typedef {{ node: number, address: string, clients: string | null, up: boolean, suspected: boolean, trouble: string | null }} Member
 * @typedef {{ node: number, cluster: string, votes: boolean, quorum: boolean, quorums: string, lease_ms: number,
 *   replaced_within_ms: number, not_before_ms: number, sessions: number, requests: number, locks: number, messages: number,
 *   reasons: string[], members: Member[] }} Status
 * @typedef {{ name: string, kind: string, state: string, token: number | null, node: number, who: string, place: string,
 *   why: string, for_ms: number, asked_ms: number | null }} Request
 * @typedef {{ at: Date, name: string, holder: Request | null }} Change
 * @typedef {{ node: number, connected: boolean, for_ms: number, restarts: number, breaks: number, messages: number }} Peer
 * @typedef {{ node: number, version: string, up_ms: number, peers: Peer[],
 *   caller: { name: string, acquire: string[], observe: string[], admin: string[] } }} NodeInfo
 * @typedef {{ at: number, values: Map<string, number> }} Sample
 * @typedef {import("./lock-names.js").Lock} Lock
 */

/** Interval at which the state is polled. */
const REFRESH_MS = 2_000;
/** Part of the time that polling may take, so that a long list does not keep a node busy. */
const BUSY_MOST = 0.1;
const REST_MOST_MS = 20_000;
/** Interval at which the metrics are sampled, and maximum number of samples. */
const SAMPLE_MS = 4_000;
const SAMPLES_MOST = 150;
/** Maximum number of changes that are kept. */
const CHANGES_MOST = 50;
/** Maximum number of prefixes that are watched. Changes of the others are seen at the next poll. */
const WATCHES_MOST = 4;
/** Pause after a change, so that a burst of changes causes a single refresh. */
const BURST_MS = 150;

/**
 * What the page knows. `locks` are those of the last answer with a quorum, received at `locksAt`.
 * @typedef {object} Known
 * @property {Status | null} status
 * @property {NodeInfo | null} node
 * @property {Lock[] | null} locks
 * @property {Date | null} locksAt
 * @property {number[]} silent nodes that did not answer the last list
 * @property {boolean} more whether there are more locks than are listed
 * @property {Date | null} lostAt since when the node does not answer; null if it does
 * @property {ClusterError | null} refused the last refusal of the node
 * @property {Change[]} changes
 * @property {Sample[]} samples
 */

/** Kept while other pages are shown, so that the last known state survives. @type {Known} */
const known = {
  status: null,
  node: null,
  locks: null,
  locksAt: null,
  silent: [],
  more: false,
  lostAt: null,
  refused: null,
  changes: [],
  samples: [],
};

/**
 * Returns the prefixes that the caller may observe, without those that another one covers.
 * @param {NodeInfo} node
 */
function observed({ caller: { observe } }) {
  const all = [...new Set(observe)];
  return all.filter((prefix) => !all.some((other) => other !== prefix && prefix.startsWith(other)));
}

/** Whether the list of locks is as of now. @param {Known} known */
export function isCurrent(known) {
  return known.lostAt === null && known.status?.quorum === true && known.locks !== null;
}

/**
 * Follows the cluster until it is stopped. `onNews` is called after every poll, whether it succeeded or not; `also` is a further
 * request of each poll.
 * @param {(known: Known) => void} onNews
 * @param {(signal: AbortSignal) => Promise<void>} [also]
 * @returns {{ known: Known, refresh: () => Promise<void>, stop: () => void }}
 */
export function followCluster(onNews, also) {
  const stop = new AbortController();
  const { signal } = stop;
  let [timer, burst, polling] = [0, 0, /** @type {Promise<void> | null} */ (null)];

  const poll = async () => {
    const begun = Date.now();
    try {
      const [status, node] = await Promise.all([getJson("status", signal), getJson("node", signal)]);
      Object.assign(known, { status, node, lostAt: null, refused: null });
      // Without a quorum a list has no holders, so that the last one with a quorum is kept.
      if (status.quorum) {
        const { requests, silent, more } = await listLocks(observed(node), signal);
        Object.assign(known, { locks: lockRows(requests), locksAt: new Date(), silent, more });
      }
      const sampled = known.samples.at(-1)?.at ?? 0;
      if (begun - sampled >= SAMPLE_MS) {
        known.samples.push({ at: begun, values: parseMetrics(await metricsText(signal)) });
        known.samples.splice(0, known.samples.length - SAMPLES_MOST);
      }
      await also?.(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ClusterError && error.status !== 0) known.refused = error;
      else known.lostAt ??= new Date();
    }
    if (signal.aborted) return;
    onNews(known);
    clearTimeout(timer);
    const rest = known.lostAt ? 0 : Math.min(REST_MOST_MS, (Date.now() - begun) / BUSY_MOST);
    timer = window.setTimeout(refresh, Math.max(REFRESH_MS, rest));
  };
  const refresh = () => {
    polling ??= poll().finally(() => (polling = null));
    return polling;
  };
  const onChange = (/** @type {any} */ change) => {
    known.changes.unshift({ at: new Date(), ...change });
    known.changes.length = Math.min(known.changes.length, CHANGES_MOST);
    if (burst) return;
    burst = window.setTimeout(() => {
      burst = 0;
      refresh();
    }, BURST_MS);
  };
  // The prefixes to watch are known after the first answer, and a watch ends with its node.
  const follow = async () => {
    while (!signal.aborted) {
      const prefixes = known.node && !known.lostAt ? observed(known.node).slice(0, WATCHES_MOST) : [];
      const ended = new AbortController();
      const both = AbortSignal.any([signal, ended.signal]);
      const watches = prefixes.map((prefix) => watch(prefix, both, onChange).catch(() => {}));
      if (watches.length > 0) await Promise.race(watches);
      ended.abort();
      await new Promise((done) => setTimeout(done, REFRESH_MS));
    }
  };
  const onVisible = () => document.visibilityState === "visible" && refresh();
  document.addEventListener("visibilitychange", onVisible);
  follow();
  return {
    known,
    refresh,
    stop: () => {
      document.removeEventListener("visibilitychange", onVisible);
      clearTimeout(timer);
      clearTimeout(burst);
      stop.abort();
    },
  };
}
