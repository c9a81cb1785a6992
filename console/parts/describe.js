// Descriptions of trace records, assumptions and properties in the user's language.

import { t, tOr } from "../texts.js";

/**
 * Describes a trace record.
 * @param {import("../global-state.js").Record} record
 */
export function describe(record) {
  const known = `event.${record.type}${record.type === "belief" ? (record.crashed ? "-crashed" : "-alive") : ""}${
    record.type === "recover" && !record.memory ? "-amnesia" : ""
  }`;
  const values = {
    process: `p${record.process}`,
    from: `p${record.from}`,
    to: `p${record.to}`,
    kind: record.kind ?? "",
    about: `p${record.about}`,
    round: record.round ?? 0,
    why: tOr(`draw.why-${record.why}`, record.why ?? ""),
    what: record.command ?? record.output ?? record.timer ?? record.fault ?? "",
    groups: (record.groups ?? []).map((group) => `{${group.map((it) => `p${it}`).join(", ")}}`).join(" | "),
    property: record.property ?? "",
    detail: record.detail ?? "",
  };
  return t(known, values);
}

/**
 * Returns the sentence of an assumption or a property in the user's language.
 * @param {"assumes" | "property"} what
 * @param {string} id
 * @param {string | null} family
 * @param {string} otherwise
 */
export function sentence(what, id, family, otherwise) {
  return tOr(`${what}.${family ?? ""}.${id}`, tOr(`${what}.${id}`, otherwise));
}

/** @param {string} family */
export function familyName(family) {
  return tOr(`family.${family}`, family);
}
