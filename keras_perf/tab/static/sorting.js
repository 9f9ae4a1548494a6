// The table of all runs, sorted by the column whose head is pressed; also when it is made anew.

import { made } from "./elements.js";

const UNKNOWN = "–";
const NAMES = 0; // The column of the runs' names, which are no numbers: 20261123-090000 is a time.

let chosen = null; // The column's name, and whether the largest comes first.

export function addSorting(content) {
  content.querySelectorAll("table.runs").forEach(addSortingTo);
}

function addSortingTo(table) {
  const heads = [...table.tHead.rows[0].cells];
  const names = heads.map((head, column) => {
    const text = (head.querySelector(".meant") ?? head).firstChild;
    const name = text.textContent.trim();
    const onclick = () => {
      chosen = { name, down: head.getAttribute("aria-sort") === "ascending" };
      sort(table, heads, column, chosen.down);
    };
    text.replaceWith(made("button", { className: "sort", type: "button", textContent: name, onclick }), " ");
    return name;
  });
  const column = names.indexOf(chosen?.name);
  if (column >= 0) sort(table, heads, column, chosen.down);
}

// What is unknown comes last, whichever way.
function sort(table, heads, column, down) {
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
  const cell = (row) => row.cells[column].textContent;
  const number = (text) => parseFloat(text.replaceAll(/[,<]/g, ""));
  const compare = (one, other) => {
    const [a, b] = [cell(one), cell(other)];
    if (column === NAMES) return a.localeCompare(b, "en", { numeric: true });
    const [x, y] = [number(a), number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
  };
  const rows = [...table.tBodies[0].rows];
  const known = rows.filter((row) => cell(row) !== UNKNOWN).sort(compare);
  const unknown = rows.filter((row) => cell(row) === UNKNOWN);
  table.tBodies[0].append(...(down ? known.reverse() : known), ...unknown);
}
