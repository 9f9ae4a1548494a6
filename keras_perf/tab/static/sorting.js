// The table of all runs, sorted by the column whose head is clicked; also when it is made anew.

let chosen = null; // The column's name, and whether the largest comes first.

export function addSorting(content) {
  content.querySelectorAll("table.runs").forEach(addSortingTo);
}

function addSortingTo(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.classList.add("sorts");
    head.tabIndex = 0;
    head.onclick = () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      chosen = { name: head.textContent, down };
      sort(table, heads, column, down);
    };
    head.onkeydown = (event) => { if (event.key === "Enter") head.onclick(); };
  });
  const column = heads.findIndex((head) => head.textContent === chosen?.name);
  if (column >= 0) sort(table, heads, column, chosen.down);
}

function sort(table, heads, column, down) {
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
  const cell = (row) => row.cells[column].textContent;
  const number = (text) => parseFloat(text.replaceAll(",", ""));
  const compare = (one, other) => {
    const [a, b] = [cell(one), cell(other)];
    const [x, y] = [number(a), number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
  };
  const rows = [...table.tBodies[0].rows].sort(compare);
  table.tBodies[0].append(...(down ? rows.reverse() : rows));
}
