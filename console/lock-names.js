// Locks grouped from requests, and the tree of their names' prefixes.

/**
 * @typedef {import("./cluster-state.js").Request} Request
 * @typedef {{ key: string, name: string, kind: string, holder: Request | null, queue: Request[] }} Lock
 * @typedef {{ prefix: string, label: string, count: number, children: PrefixNode[] }} PrefixNode
 */

/** Separates the parts of a name. */
const SEPARATOR = "/";

/** Groups requests by lock. @param {Request[]} requests @returns {Lock[]} */
export function lockRows(requests) {
  /** @type {Map<string, Lock>} */
  const locks = new Map();
  for (const request of requests) {
    const key = `${request.kind} ${request.name}`;
    const lock = locks.get(key) ?? { key, name: request.name, kind: request.kind, holder: null, queue: [] };
    if (request.state === "holding" && lock.holder === null) lock.holder = request;
    else lock.queue.push(request);
    locks.set(key, lock);
  }
  return [...locks.values()];
}

/**
 * Returns the tree of the prefixes that end with a separator. A prefix with a single prefix below and no name of its own is
 * joined with it.
 * @param {string[]} names
 * @returns {PrefixNode[]}
 */
export function prefixTree(names) {
  /** @type {PrefixNode} */
  const root = { prefix: "", label: "", count: 0, children: [] };
  /** @type {Map<string, PrefixNode>} */
  const nodes = new Map();
  for (const name of names) {
    let parent = root;
    for (let end = name.indexOf(SEPARATOR); end >= 0; end = name.indexOf(SEPARATOR, end + 1)) {
      const prefix = name.slice(0, end + 1);
      let node = nodes.get(prefix);
      if (!node) {
        node = { prefix, label: prefix.slice(parent.prefix.length), count: 0, children: [] };
        nodes.set(prefix, node);
        parent.children.push(node);
      }
      node.count += 1;
      parent = node;
    }
  }
  return joined(root.children);
}

/** @param {PrefixNode[]} nodes @returns {PrefixNode[]} */
function joined(nodes) {
  const all = nodes.map((node) => {
    let [current, label] = [node, node.label];
    while (current.children.length === 1 && current.children[0].count === current.count) {
      current = current.children[0];
      label += current.label;
    }
    return { ...current, label, children: joined(current.children) };
  });
  return all.sort((a, b) => a.prefix.localeCompare(b.prefix));
}

/** Whether any text of a lock contains the words. @param {Lock} lock @param {string} words */
export function lockMatches(lock, words) {
  const texts = [lock.name, ...[lock.holder, ...lock.queue].flatMap((it) => (it ? [it.who, it.place, it.why] : []))];
  const text = texts.join("\n").toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/**
 * Splits the location of a client, as `quorate lock` reports it: `host, process 12: command`.
 * @param {string} place
 * @returns {{ host: string, process: string, command: string }}
 */
export function placeParts(place) {
  const [, host, process, command] = /^(.*?), process (\d+)(?:: (.*))?$/s.exec(place) ?? [];
  return host === undefined ? { host: place, process: "", command: "" } : { host, process, command: command ?? "" };
}

/**
 * Returns the endpoint of the node for the command line: its address for clients if others can use it, or else the address
 * of the page.
 * @param {import("./cluster-state.js").Status | null} status
 * @param {{ hostname: string, port: string, protocol: string }} page
 */
export function endpoint(status, page) {
  const own = status?.members.find(({ node }) => node === status.node)?.clients;
  if (own && !/^(0\.0\.0\.0|\[::\]):/.test(own)) return own;
  return `${page.hostname}:${page.port || (page.protocol === "https:" ? "443" : "80")}`;
}

/** The options with which a command reaches the node. @param {import("./cluster-state.js").Status | null} status */
export function endpointOptions(status) {
  const at = endpoint(status, location);
  return location.protocol === "https:" ? `--endpoint ${at} --ca ca.pem` : at === "127.0.0.1:7480" ? "" : `--endpoint ${at}`;
}

/**
 * Time since a request was made, in milliseconds. `for_ms` begins again if the client continues through another node.
 * @param {Request} request
 */
export function askedFor({ asked_ms, for_ms }) {
  return Math.max(asked_ms ?? 0, for_ms);
}
