// The global state after an event of a run.

/**
 * @typedef {{ event: number, time: number, process: number, type: string, message?: number, from?: number, to?: number,
 *   kind?: string, layer?: string, body?: string, why?: string, command?: string, output?: string, timer?: string,
 *   about?: number, crashed?: boolean, memory?: boolean, round?: number, fault?: string, mark?: any, says?: string,
 *   groups?: number[][], property?: string, detail?: string, cause?: number }} Record
 */

/** Where the vote or the token of a process is: the processes that have its vote. @typedef {null | "token" | number[]} Permission */

export class GlobalState {
  /** @param {number} n */
  constructor(n) {
    this.step = -1;
    /** The state of each process, as an index into `texts`. */
    this.states = new Int32Array(n).fill(-1);
    /** Texts of the process states. @type {string[]} */
    this.texts = [];
    /** For each of the texts, the processes for which a process in this state waits. @type {number[][]} */
    this.waits = [];
    /** For each of the texts, where the vote or the token of a process in this state is. @type {Permission[]} */
    this.permissions = [];
    /** State, as an index into `texts`, that the process of the current event had before the event. */
    this.previousState = -1;
    this.up = new Uint8Array(n).fill(1);
    /** For each process, the processes that it suspects to have crashed. @type {Set<number>[]} */
    this.suspects = Array.from({ length: n }, () => new Set());
    /** Messages that were sent and have not arrived. @type {Map<string, Record>} */
    this.inFlight = new Map();
    /** Number of further messages in flight whose contents are not in this segment. */
    this.omittedMessages = 0;
    /** The last mark of each process, from its commands and outputs. @type {(string | null)[]} */
    this.marks = new Array(n).fill(null);
    /** Number of messages sent, by kind. @type {Map<string, number>} */
    this.sent = new Map();
    this.lost = 0;
  }

  copy() {
    const copy = new GlobalState(0);
    copy.step = this.step;
    copy.states = this.states.slice();
    copy.texts = this.texts;
    copy.waits = this.waits;
    copy.permissions = this.permissions;
    copy.previousState = this.previousState;
    copy.up = this.up.slice();
    copy.suspects = this.suspects.map((set) => new Set(set));
    copy.inFlight = new Map(this.inFlight);
    copy.omittedMessages = this.omittedMessages;
    copy.marks = this.marks.slice();
    copy.sent = new Map(this.sent);
    copy.lost = this.lost;
    return copy;
  }

  /** Returns the state of a process as text. @param {number} process */
  state(process) {
    return this.texts[this.states[process]];
  }

  /** Returns where the vote or the token of a process is; null if it is with no process. @param {number} process @returns {Permission} */
  permission(process) {
    return this.permissions[this.states[process]] ?? null;
  }

  /** Number of messages in flight. */
  get messagesInFlight() {
    return this.inFlight.size + this.omittedMessages;
  }
}

/**
 * Applies a trace record to the global state.
 * @param {GlobalState} global
 * @param {Record} record
 */
export function apply(global, record) {
  const { process } = record;
  switch (record.type) {
    case "send":
    case "duplicate": {
      global.inFlight.set(messageKey(record), record);
      if (record.type === "send") global.sent.set(record.kind ?? "", (global.sent.get(record.kind ?? "") ?? 0) + 1);
      break;
    }
    case "lose":
      global.lost += 1;
      arrive(global, record);
      break;
    case "deliver":
      arrive(global, record);
      break;
    case "belief":
      if (record.crashed) global.suspects[process].add(record.about ?? -1);
      else global.suspects[process].delete(record.about ?? -1);
      break;
    case "crash":
      global.up[process] = 0;
      break;
    case "recover":
      global.up[process] = 1;
      if (!record.memory) global.suspects[process].clear();
      break;
    case "command":
    case "output":
      if (typeof record.mark === "string") global.marks[process] = record.mark;
      break;
  }
}

/** @param {Record} record */
function messageKey(record) {
  return record.type === "duplicate" ? `${record.message}+` : `${record.message}`;
}

/**
 * @param {GlobalState} global
 * @param {Record} record
 */
function arrive(global, record) {
  // Both copies of a duplicated message have the same number; the first arrival removes the original.
  if (global.inFlight.delete(`${record.message}`) || global.inFlight.delete(`${record.message}+`)) return;
  if (global.omittedMessages > 0) global.omittedMessages -= 1;
}
