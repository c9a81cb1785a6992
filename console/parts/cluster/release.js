// Releasing a lock by force: with confirmation and a reason, where the caller's rights allow it.

import { ClusterError, postJson } from "../../cluster.js";
import { fill, h } from "../../dom.js";
import { t } from "../../texts.js";

/** @typedef {import("../../cluster-state.js").Request} Request */

/**
 * Whether the caller may release locks of this name by force.
 * @param {import("../../cluster-state.js").NodeInfo | null} node
 * @param {string} name
 */
export function mayRelease(node, name) {
  return node?.caller.admin.some((prefix) => name.startsWith(prefix)) ?? false;
}

/**
 * Asks for a reason and for confirmation, and releases the lock of this holder.
 * @param {Request} holder
 * @param {() => void} onReleased
 */
export function confirmRelease(holder, onReleased) {
  const { name, kind } = holder;
  const reason = h("input", { type: "text", required: true, maxlength: "200", autocomplete: "off", name: "reason" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const confirm = h("button", { type: "submit", class: "danger", text: t("release.confirm") });
  const cancel = h("button", { type: "button", text: t("release.cancel") });
  const values = { name, who: holder.who || t("lock.nameless"), place: holder.place || "–" };
  const form = h("form", { class: "dialog-form" });
  fill(
    form,
    h("h2", { text: t("release.title") }),
    h("p", { text: t("release.what", values) }),
    h("p", { class: "note", text: t("release.danger") }),
    h("label", { class: "field" }, h("span", { text: t("release.reason") }), reason),
    problem,
    h("div", { class: "row" }, h("span", { class: "space" }), cancel, confirm),
  );
  const dialog = h("dialog", { "aria-label": t("release.title"), class: "dialog" }, form);
  const stop = new AbortController();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    confirm.disabled = true;
    problem.hidden = true;
    try {
      await postJson("force-release", { name, kind, reason: reason.value }, stop.signal);
      dialog.close();
      onReleased();
    } catch (error) {
      if (stop.signal.aborted) return;
      problem.hidden = false;
      problem.lang = "en";
      problem.textContent = error instanceof ClusterError ? error.message : String(error);
      confirm.disabled = false;
    }
  });
  cancel.addEventListener("click", () => dialog.close());
  // The element that opened the dialog gets the focus back.
  const opener = document.activeElement;
  dialog.addEventListener("close", () => {
    stop.abort();
    dialog.remove();
    if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
  });
  document.body.append(dialog);
  // A page that is left takes its dialog along.
  window.addEventListener("hashchange", () => dialog.close(), { once: true });
  dialog.showModal();
  reason.focus();
}
