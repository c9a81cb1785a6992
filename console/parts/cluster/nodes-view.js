// The nodes: their state, addresses, links, restarts and versions, and the state of the node that answers.

import { fill, h } from "../../dom.js";
import { formatDuration } from "../../durations.js";
import { keyedChildren, setText } from "../../keyed.js";
import { number, t } from "../../texts.js";
import { cube, SIGNS, stateOf } from "./cube.js";

/**
 * @typedef {import("../../cluster-state.js").Known} Known
 * @typedef {import("../../cluster-state.js").Member} Member
 * @typedef {import("../../cluster-state.js").Peer} Peer
 * @typedef {{ member: Member, peer: Peer | null, own: boolean, version: string, upMs: number }} NodeRow
 */

/** @type {Record<string, string>} */
const BADGES = { up: "mark-decided", suspected: "mark-suspected", down: "wrong" };

/** @returns {import("./view.js").View} */
export function nodesView() {
  const picture = h("div", { class: "cube-frame" });
  const list = h("ul", { class: "plain node-list" });
  const showNodes = keyedChildren(list, (/** @type {NodeRow} */ { member }) => String(member.node), nodeCard);
  const facts = h("tbody");
  const state = h("span", { class: "badge" });
  const reasons = h("ul", { lang: "en" });
  const showReasons = keyedChildren(reasons, (/** @type {string} */ reason) => reason, (reason) => ({ element: h("li", { text: reason }), update: () => {} }));
  const showFacts = keyedChildren(facts, (/** @type {string[]} */ [key]) => key, factRow);
  let drawn = "";
  return {
    element: h(
      "div",
      { class: "cluster-view nodes-view" },
      h("section", { class: "sheet", "data-part": "members" }, h("h2", { text: t("cluster.members") }), h("div", { class: "nodes-body" }, picture, list)),
      h("section", { class: "sheet", "data-part": "facts" }, h("h2", {}, t("cluster.state"), " ", state), reasons, h("table", { class: "facts-table" }, facts)),
    ),
    title: t("cluster.members"),
    show: ({ status, node, lostAt }) => {
      if (!status) return;
      const states = JSON.stringify(status.members.map((member) => [member.node, stateOf(member)]));
      if (states !== drawn) fill(picture, cube(status.members));
      drawn = states;
      showNodes(
        status.members.map((member) => {
          const own = member.node === status.node;
          const peer = node?.peers.find((peer) => peer.node === member.node) ?? null;
          return { member, peer, own, version: own ? (node?.version ?? "") : "", upMs: own ? (node?.up_ms ?? 0) : 0 };
        }),
      );
      const good = status.votes && status.quorum && lostAt === null;
      setText(state, t(lostAt ? "cluster.lost" : good ? "cluster.ready" : status.quorum ? "cluster.abstains" : "cluster.lonely"));
      state.classList.toggle("wrong", !good);
      showReasons(status.reasons);
      const ms = (/** @type {number} */ ms) => t("cluster.ms", { ms: number(Math.round(ms)) });
      showFacts([
        ["cluster.asked", t("cluster.node", { node: status.node })],
        ["cluster.quorums", status.quorums],
        ["cluster.lease", ms(status.lease_ms)],
        ["cluster.replaced", ms(status.replaced_within_ms)],
        ["cluster.before", ms(status.not_before_ms)],
        ["cluster.sessions", number(status.sessions)],
        ["cluster.requests", number(status.requests)],
        ["cluster.messages", number(status.messages)],
      ]);
    },
  };
}

/** @param {string[]} fact */
function factRow([key]) {
  const value = h("td");
  return { element: h("tr", {}, h("th", { scope: "row", text: t(key) }), value), update: (/** @type {string[]} */ [, now]) => setText(value, now) };
}

/** @param {NodeRow} row @returns {import("../../keyed.js").View<NodeRow>} */
function nodeCard({ member: { node } }) {
  const badge = h("span", { class: "badge" });
  const trouble = h("p", { class: "trouble", lang: "en" });
  const keys = ["nodes.clients", "nodes.peers", "nodes.link", "nodes.restarts", "nodes.breaks", "nodes.version"];
  const values = keys.map(() => h("dd"));
  const rows = keys.map((key, index) => h("div", { class: "fact" }, h("dt", { class: "label", text: t(key) }), values[index]));
  const link = h("a");
  const element = h("li", { class: "node-card", "data-node": node }, h("h3", {}, t("cluster.node", { node }), " ", badge), trouble, h("dl", { class: "facts" }, rows));
  return {
    element,
    update: ({ member, peer, own, version, upMs }) => {
      const state = stateOf(member);
      element.dataset.state = state;
      badge.className = `badge ${BADGES[state]}`;
      setText(badge, `${t(`cluster.${state}`)} ${SIGNS[state]}`.trim());
      setText(trouble, member.trouble ?? "");
      trouble.hidden = !member.trouble;
      const here = own ? t("nodes.answers", { time: formatDuration(upMs) }) : "";
      const linked = peer && t(peer.connected ? "nodes.connected" : "nodes.cut", { time: formatDuration(peer.for_ms) });
      const texts = [
        member.clients ?? t("nodes.unknown"),
        member.address,
        own ? here : (linked ?? t("nodes.never")),
        own ? "" : peer ? number(peer.restarts) : "",
        own ? "" : peer ? number(peer.breaks) : "",
        own ? t("nodes.program", { version }) : peer ? t("nodes.messages", { version: peer.messages }) : "",
      ];
      texts.forEach((text, index) => {
        rows[index].hidden = text === "";
        if (index !== 0) setText(values[index], text);
      });
      // The page of another node is at its address for clients.
      if (member.clients && !own && !/^(0\.0\.0\.0|\[::\]):/.test(member.clients)) {
        link.href = `${location.protocol}//${member.clients}/#/cluster/nodes`;
        setText(link, member.clients);
        if (link.parentElement !== values[0]) fill(values[0], link);
      } else setText(values[0], texts[0]);
    },
  };
}
