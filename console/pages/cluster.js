// Cluster: the state of the nodes, the locks with their holders and queues, the sessions, and charts.

import { alarmsOf } from "../cluster-alarms.js";
import { followCluster } from "../cluster-state.js";
import { fill, h } from "../dom.js";
import { endpoint } from "../lock-names.js";
import { t } from "../texts.js";
import { banner, titleOf } from "../parts/cluster/banner.js";
import { chartsView } from "../parts/cluster/charts-view.js";
import { lockView } from "../parts/cluster/lock-view.js";
import { locksView } from "../parts/cluster/locks-view.js";
import { nodesView } from "../parts/cluster/nodes-view.js";
import { sessionsView } from "../parts/cluster/sessions-view.js";
import { summary } from "../parts/cluster/summary.js";
import { tokenPrompt } from "../parts/cluster/token-form.js";

/** The views and their addresses below `#/cluster`. @type {[string, string, (rest: string, refresh: () => void) => import("../parts/cluster/view.js").View][]} */
const VIEWS = [
  ["", "cluster.locks-tab", locksView],
  ["sessions", "sessions.title", sessionsView],
  ["nodes", "cluster.members", nodesView],
  ["charts", "charts.title", chartsView],
];

/** @type {import("../main.js").Page} */
export async function page(main, rest) {
  const [, path = "", query = rest] = /^(lock|sessions|nodes|charts)(?:\?(.*))?$/s.exec(rest) ?? [];
  const refresh = () => cluster.refresh();
  const known = VIEWS.find(([name]) => name === path && name !== "");
  const view = path === "lock" ? lockView(query, refresh) : (known?.[2] ?? locksView)(query, refresh);
  const [top, figures, token] = [banner(), summary(), tokenPrompt(refresh)];
  const links = VIEWS.map(([name, key]) =>
    h("a", { href: `#/cluster${name && "/"}${name}`, "aria-current": name === (known?.[0] ?? "") ? (path === "lock" ? "true" : "page") : undefined, text: t(key) }),
  );
  fill(
    main,
    top.element,
    h("div", { class: "cluster-head" }, h("h1", { text: t("page.cluster") }), figures.element),
    h("nav", { class: "views", "aria-label": t("cluster.views") }, links),
    token.element,
    view.element,
  );
  const show = (/** @type {import("../cluster-state.js").Known} */ state) => {
    // The first answer may arrive after another page was chosen.
    if (!main.isConnected) return;
    const alarms = alarmsOf(state, endpoint(state.status, location));
    top.show(alarms, state.lostAt ?? (state.status?.quorum === false ? state.locksAt : null));
    document.title = titleOf(alarms, view.title);
    token.show(state.refused?.status === 401);
    figures.show(state);
    view.show(state);
  };
  const cluster = followCluster(show, view.also);
  // What is known already is shown at once, with the way back to the same place of a list.
  if (cluster.known.status) show(cluster.known);
  await cluster.refresh();
  return { leave: cluster.stop };
}
