// A table that sorts, shows one page of its rows at a time, and updates rows by key.

import { h } from "../../dom.js";
import { keyedChildren, setText } from "../../keyed.js";
import { number, t } from "../../texts.js";

/**
 * `sort` returns the value by which the column sorts; a column without it does not sort.
 * @template T
 * @typedef {{ id: string, label: string, class?: string, sort?: (item: T) => string | number,
 *   cell: (item: T) => { content: import("../../dom.js").Child[], update: (item: T) => void } }} Column
 */
/** @typedef {{ sort: string, down: boolean, page: number }} TableState */

/**
 * @template T
 * @param {{ label: string, columns: Column<T>[], keyOf: (item: T) => string, pageSize: number, state: TableState,
 *   onState: (state: TableState) => void }} options
 * @returns {{ element: HTMLElement, show: (items: T[]) => void, first: () => void }}
 */
export function pagedTable({ label, columns, keyOf, pageSize, state, onState }) {
  /** @type {T[]} */
  let items = [];
  const body = h("tbody");
  const showRows = keyedChildren(body, keyOf, (/** @type {T} */ item) => rowView(columns, item));
  const heads = columns.map((column) => headCell(column, () => sortBy(column)));
  const table = h("table", { class: "data", "aria-label": label }, h("thead", {}, h("tr", {}, heads.map(({ element }) => element))), body);
  const pager = pagerOf((page) => change({ page }));
  const sorter = sortMenu(columns, (sort) => change({ sort, down: false, page: 0 }));
  const element = h("div", { class: "paged" }, sorter.element, h("div", { class: "scroll" }, table), pager.element);

  const change = (/** @type {Partial<TableState>} */ part) => {
    Object.assign(state, part);
    onState(state);
    draw();
  };
  const sortBy = (/** @type {Column<T>} */ { id }) => change({ sort: id, down: state.sort === id && !state.down, page: 0 });
  const draw = () => {
    const pages = Math.max(1, Math.ceil(items.length / pageSize));
    // The list may have become shorter. The page that the user has chosen is kept for the case that it grows again.
    const page = Math.min(state.page, pages - 1);
    const begin = page * pageSize;
    showRows(sorted(items, columns, state).slice(begin, begin + pageSize));
    heads.forEach((head) => head.show(state));
    sorter.show(state);
    pager.show(page, pages, begin, Math.min(begin + pageSize, items.length), items.length);
  };
  return {
    element,
    show: (now) => {
      items = now;
      draw();
    },
    first: () => change({ page: 0 }),
  };
}

/**
 * @template T
 * @param {T[]} items
 * @param {Column<T>[]} columns
 * @param {TableState} state
 */
function sorted(items, columns, { sort, down }) {
  const by = columns.find(({ id }) => id === sort)?.sort;
  if (!by) return items;
  const keyed = items.map((item) => ({ item, value: by(item) }));
  const compare = (/** @type {any} */ a, /** @type {any} */ b) =>
    typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
  keyed.sort((a, b) => (down ? -1 : 1) * compare(a.value, b.value));
  return keyed.map(({ item }) => item);
}

/**
 * @template T
 * @param {Column<T>[]} columns
 * @param {T} item
 * @returns {import("../../keyed.js").View<T>}
 */
function rowView(columns, item) {
  const cells = columns.map((column) => ({ column, ...column.cell(item) }));
  const element = h(
    "tr",
    {},
    // The label of the column is shown where the table is too narrow for columns.
    cells.map(({ column, content }) => h("td", { class: column.class, "data-label": column.label }, h("div", {}, content))),
  );
  return { element, update: (now) => cells.forEach(({ update }) => update(now)) };
}

/**
 * @template T
 * @param {Column<T>} column
 * @param {() => void} onSort
 */
function headCell(column, onSort) {
  if (!column.sort) return { element: h("th", { scope: "col", class: column.class, text: column.label }), show: () => {} };
  const arrow = h("span", { "aria-hidden": "true", class: "arrow" });
  const button = h("button", { type: "button", class: "sorts", on: { click: onSort } }, column.label, " ", arrow);
  const element = h("th", { scope: "col", class: column.class }, button);
  return {
    element,
    show: (/** @type {TableState} */ { sort, down }) => {
      const own = sort === column.id;
      setText(arrow, own ? (down ? "▼" : "▲") : "");
      if (own) element.setAttribute("aria-sort", down ? "descending" : "ascending");
      else element.removeAttribute("aria-sort");
    },
  };
}

/**
 * A list of the columns, for narrow screens without column heads.
 * @template T
 * @param {Column<T>[]} columns
 * @param {(id: string) => void} onSort
 */
function sortMenu(columns, onSort) {
  const options = columns.filter(({ sort }) => sort).map(({ id, label }) => h("option", { value: id, text: label }));
  const menu = h("select", { on: { change: () => onSort(menu.value) } }, options);
  return {
    element: h("label", { class: "field sort-menu" }, h("span", { text: t("table.sort") }), menu),
    show: (/** @type {TableState} */ { sort }) => {
      menu.value = sort;
    },
  };
}

/** @param {(page: number) => void} onPage */
function pagerOf(onPage) {
  let [current, last] = [0, 0];
  const back = h("button", { type: "button", text: t("table.back"), on: { click: () => onPage(current - 1) } });
  const next = h("button", { type: "button", text: t("table.next"), on: { click: () => onPage(current + 1) } });
  const where = h("p", { class: "faint", role: "status" });
  const element = h("nav", { class: "row table-pager", "aria-label": t("table.pages") }, where, h("span", { class: "space" }), back, next);
  return {
    element,
    show: (/** @type {number} */ page, /** @type {number} */ pages, /** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ all) => {
      [current, last] = [page, pages - 1];
      element.hidden = all === 0;
      setText(where, t("table.where", { from: number(from + 1), to: number(to), all: number(all) }));
      // A disabled button loses the focus, so the other one gets it.
      const focused = document.activeElement;
      back.disabled = current === 0;
      next.disabled = current === last;
      if (focused === back && back.disabled) next.focus();
      if (focused === next && next.disabled) back.focus();
      back.hidden = next.hidden = pages === 1;
    },
  };
}

/**
 * A cell that shows one text.
 * @template T
 * @param {(item: T) => string | number} textOf
 * @returns {Column<T>["cell"]}
 */
export function textCell(textOf) {
  return () => {
    const span = h("span", { dir: "auto" });
    const update = (/** @type {T} */ item) => setText(span, textOf(item));
    return { content: [span], update };
  };
}
