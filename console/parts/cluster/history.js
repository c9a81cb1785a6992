// The history of a lock, as one node saw it.

import { h } from "../../dom.js";
import { formatDuration, formatMoment } from "../../durations.js";
import { keyedChildren, setText } from "../../keyed.js";
import { t } from "../../texts.js";

/**
 * @typedef {{ number: number, token: number | null, node: number | null, who: string, place: string, why: string, began_ms: number,
 *   ended_ms: number | null, end: string | null }} Vote
 */

/** Badges of the ways in which a vote ends. @type {Record<string, string>} */
const BADGES = { holds: "mark-decided", released: "mark-left", expired: "mark-suspected", revoked: "wrong", moved: "mark-left" };

/** @returns {{ element: HTMLElement, show: (votes: Vote[], answeredAt: number) => void }} */
export function historyTable() {
  let at = 0;
  const body = h("ol", { class: "plain history" });
  // The numbers of the votes for a lock grow.
  const showVotes = keyedChildren(body, (/** @type {Vote} */ vote) => String(vote.number), () => voteView(() => at));
  return {
    element: body,
    show: (/** @type {Vote[]} */ votes, /** @type {number} */ answeredAt) => {
      at = answeredAt;
      showVotes(votes);
    },
  };
}

/** @param {() => number} now @returns {import("../../keyed.js").View<Vote>} */
function voteView(now) {
  const token = h("span", { class: "history-token" });
  const [who, place, why] = [h("b", { dir: "auto" }), h("small", { class: "faint", dir: "auto" }), h("span", { dir: "auto" })];
  const [when, lasted, end] = [h("time"), h("span", { class: "faint" }), h("span", { class: "badge" })];
  return {
    element: h("li", {}, token, h("div", {}, who, why, " ", place), h("div", { class: "history-when" }, when, " ", lasted, " ", end)),
    update: (vote) => {
      const began = new Date(now() - vote.began_ms);
      setText(token, vote.token === null ? t("lock.vote-number", { number: vote.number }) : t("cluster.token-number", { token: vote.token }));
      setText(who, vote.who || t("lock.nameless"));
      setText(why, vote.why ? ` · ${vote.why}` : "");
      setText(place, vote.place);
      when.dateTime = began.toISOString();
      setText(when, formatMoment(began));
      const time = formatDuration(vote.began_ms - (vote.ended_ms ?? 0));
      setText(lasted, t("lock.held-for", { time }));
      const how = vote.end ?? "holds";
      setText(end, t(`lock.end.${how}`));
      end.className = `badge ${BADGES[how] ?? ""}`;
    },
  };
}
