// The parts of the cluster's page of which one is shown at a time.

/**
 * `also` is a further request of each poll, and `show` is called after each poll.
 * @typedef {{ element: HTMLElement, title: string, show: (known: import("../../cluster-state.js").Known) => void,
 *   also?: (signal: AbortSignal) => Promise<void> }} View
 */

export {};
