// The wait-for graph after an event: which process waits for which others, and the cycles among them.

/** @typedef {{ from: number, to: number, inCycle: boolean }} Edge */

/**
 * Returns the edges of the wait-for graph. A process that has crashed waits for nothing.
 * @param {import("./global-state.js").GlobalState} global
 * @returns {Edge[]}
 */
export function waitFor(global) {
  /** @type {number[][]} */
  const awaited = [];
  for (let process = 0; process < global.states.length; process += 1) {
    const all = global.up[process] === 1 ? (global.waits[global.states[process]] ?? []) : [];
    awaited.push(all.filter((other) => other !== process));
  }
  const components = stronglyConnected(awaited);
  return awaited.flatMap((others, from) =>
    others.map((to) => ({ from, to, inCycle: components[from] === components[to] })),
  );
}

/**
 * Returns a shortest cycle of the graph, as the processes on it; empty if there is none.
 * @param {Edge[]} edges
 * @returns {number[]}
 */
export function shortestCycle(edges) {
  /** @type {Map<number, number[]>} */
  const next = new Map();
  for (const { from, to, inCycle } of edges) if (inCycle) next.set(from, [...(next.get(from) ?? []), to]);
  /** @type {number[]} */
  let best = [];
  for (const start of next.keys()) {
    const found = cycleFrom(start, next);
    if (found.length > 0 && (best.length === 0 || found.length < best.length)) best = found;
  }
  return best;
}

/**
 * @param {number} start
 * @param {Map<number, number[]>} next
 */
function cycleFrom(start, next) {
  /** @type {Map<number, number>} */
  const before = new Map();
  const queue = [start];
  for (const process of queue) {
    for (const to of next.get(process) ?? []) {
      if (to === start) {
        const cycle = [process];
        while (cycle[0] !== start) cycle.unshift(before.get(cycle[0]) ?? start);
        return cycle;
      }
      if (before.has(to)) continue;
      before.set(to, process);
      queue.push(to);
    }
  }
  return [];
}

/**
 * Returns the number of the strongly connected component of each node (Tarjan 1972, without recursion).
 * @param {number[][]} next
 * @returns {number[]}
 */
function stronglyConnected(next) {
  const [index, low, component] = [0, 0, 0].map(() => new Array(next.length).fill(-1));
  /** @type {number[]} */
  const stack = [];
  const onStack = new Set();
  let [count, components] = [0, 0];
  for (let root = 0; root < next.length; root += 1) {
    if (index[root] >= 0) continue;
    const path = [{ node: root, edge: 0 }];
    while (path.length > 0) {
      const top = path[path.length - 1];
      const { node } = top;
      if (top.edge === 0) {
        index[node] = low[node] = count++;
        stack.push(node);
        onStack.add(node);
      }
      const to = next[node][top.edge];
      top.edge += 1;
      if (to !== undefined) {
        if (index[to] < 0) path.push({ node: to, edge: 0 });
        else if (onStack.has(to)) low[node] = Math.min(low[node], index[to]);
        continue;
      }
      path.pop();
      const parent = path[path.length - 1];
      if (parent) low[parent.node] = Math.min(low[parent.node], low[node]);
      if (low[node] !== index[node]) continue;
      for (let member = -1; member !== node; ) {
        member = /** @type {number} */ (stack.pop());
        onStack.delete(member);
        component[member] = components;
      }
      components += 1;
    }
  }
  return component;
}
