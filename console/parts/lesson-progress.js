// Progress in the course, kept in this browser only: which lessons are done, and the points of their questions.

/** The one key of the browser's storage in which the progress is kept. */
const KEY = "quorate.lessons";
/** Points of a question that is answered at once; each wrong answer and each hint costs one, but one is left. */
export const POINTS_MOST = 3;

/**
 * @typedef {{ state: "open" | "right" | "given-up", wrong: number, hints: number, given?: any }} Attempt
 * @typedef {{ done: boolean, attempts: Attempt[] }} LessonProgress
 * @typedef {Record<string, LessonProgress>} Progress
 */

/** @returns {Progress} */
function read() {
  try {
    const known = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return known?.version === 1 && typeof known.lessons === "object" && known.lessons !== null ? known.lessons : {};
  } catch {
    return {};
  }
}

/** @param {Progress} lessons */
function write(lessons) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ version: 1, lessons }));
  } catch {
    // Without storage the progress lasts as long as the page.
  }
}

/** @returns {Attempt} */
const untried = () => ({ state: "open", wrong: 0, hints: 0 });

/**
 * Returns the progress in a lesson. Attempts at questions that have changed in number since then are forgotten.
 * @param {string} name
 * @param {number} questions
 * @returns {LessonProgress}
 */
export function progressOf(name, questions) {
  const all = read();
  const known = Object.hasOwn(all, name) ? all[name] : undefined;
  const attempts = Array.isArray(known?.attempts) && known.attempts.length === questions ? known.attempts : [];
  const valid = attempts.every((it) => ["open", "right", "given-up"].includes(it?.state));
  const filled = Array.from({ length: questions }, (_, it) => (valid ? { ...untried(), ...attempts[it] } : untried()));
  return { done: known?.done === true && (questions === 0 || isAnswered(filled)), attempts: filled };
}

/** @param {Attempt[]} attempts */
export function isAnswered(attempts) {
  return attempts.every((it) => it.state !== "open");
}

/**
 * @param {string} name
 * @param {LessonProgress} progress
 */
export function keep(name, progress) {
  write({ ...read(), [name]: progress });
}

export function resetProgress() {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // There is nothing to remove.
  }
}

/** Returns the points of a question. @param {Attempt} attempt */
export function pointsOf(attempt) {
  return attempt.state === "right" ? Math.max(1, POINTS_MOST - attempt.wrong - attempt.hints) : 0;
}
