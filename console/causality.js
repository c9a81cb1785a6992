// The happened-before relation of the steps of a run: two steps of one process are ordered, a message orders its sending before its
// arrival, and the relation is transitive. (Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", 1978.)

/** Maximum number of steps; of longer runs only a part is loaded, and the relation would take long. */
export const CAUSALITY_MOST = 50_000;

/**
 * The steps of a run with their direct predecessors and successors. Steps are numbered as in the recording.
 */
export class Causality {
  /** @param {import("./recording.js").Recording} recording a recording of the whole run */
  constructor(recording) {
    this.n = recording.n;
    this.length = recording.length;
    /** Steps of each process in order. @type {number[][]} */
    this.ofProcess = Array.from({ length: this.n }, () => []);
    /** Index of each step among those of its process. */
    this.index = new Int32Array(this.length);
    this.process = new Int32Array(this.length);
    /** @type {number[][]} */
    this.before = Array.from({ length: this.length }, () => []);
    /** @type {number[][]} */
    this.after = Array.from({ length: this.length }, () => []);
    /** Messages by the steps at which they are sent and handled. @type {{ sent: number, received: number }[]} */
    this.messages = [];
    /** @type {Map<number, number>} */
    const sent = new Map();
    for (let step = 0; step < this.length; step += 1) {
      const process = recording.process(step);
      const own = this.ofProcess[process];
      this.process[step] = process;
      this.index[step] = own.length;
      if (own.length > 0) this.link(own[own.length - 1], step);
      own.push(step);
      for (const record of recording.records(step)) {
        if (record.type === "send") sent.set(record.message ?? -1, step);
        const sending = record.type === "deliver" ? sent.get(record.message ?? -1) : undefined;
        if (sending === undefined) continue;
        this.messages.push({ sent: sending, received: step });
        // A message of a process to itself adds nothing to the order of its steps.
        if (this.process[sending] !== process) this.link(sending, step);
      }
    }
  }

  /**
   * @param {number} earlier
   * @param {number} later
   */
  link(earlier, later) {
    this.before[later].push(earlier);
    this.after[earlier].push(later);
  }

  /** Returns the steps that happened before a step. @param {number} step */
  past(step) {
    return reached(step, this.before);
  }

  /** Returns the steps before which a step happened. @param {number} step */
  future(step) {
    return reached(step, this.after);
  }

  /**
   * Returns a shortest chain of steps from one to another, each directly before the next; empty if there is none.
   * @param {number} from
   * @param {number} to
   */
  chain(from, to) {
    /** @type {Map<number, number>} */
    const previous = new Map();
    const queue = [from];
    for (const step of queue) {
      if (step === to) break;
      for (const next of this.after[step]) {
        if (previous.has(next) || next > to) continue;
        previous.set(next, step);
        queue.push(next);
      }
    }
    if (from !== to && !previous.has(to)) return [];
    const chain = [to];
    while (chain[0] !== from) chain.unshift(/** @type {number} */ (previous.get(chain[0])));
    return chain;
  }

  /**
   * Returns the cut after a step of the run: the number of steps of each process in it.
   * @param {number} step
   */
  cutAfter(step) {
    return this.ofProcess.map((own) => own.filter((it) => it <= step).length);
  }

  /**
   * Judges a cut: the messages that were received in it and not sent in it, and the number of those on their way across it. A cut
   * without the former is consistent: a snapshot could have recorded it.
   * @param {number[]} cut number of steps of each process
   */
  judge(cut) {
    const isInside = (/** @type {number} */ step) => this.index[step] < cut[this.process[step]];
    const wrong = this.messages.filter(({ sent, received }) => isInside(received) && !isInside(sent));
    const inTransit = this.messages.filter(({ sent, received }) => isInside(sent) && !isInside(received)).length;
    return { wrong, inTransit };
  }
}

/**
 * @param {number} step
 * @param {number[][]} next
 */
function reached(step, next) {
  /** @type {Set<number>} */
  const found = new Set();
  const queue = [step];
  for (const one of queue) {
    for (const other of next[one]) {
      if (found.has(other)) continue;
      found.add(other);
      queue.push(other);
    }
  }
  return found;
}
