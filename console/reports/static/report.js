// Long tables can be sorted by their columns and searched. Without this script they still read well.
for (const table of document.querySelectorAll("table.wide")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = `search ${rows.length} rows`;
  search.setAttribute("aria-label", "Search the table below");
  search.addEventListener("input", () => {
    const wanted = search.value.toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
  table.parentElement.before(search);
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].textContent;
      const order = (a, b) => key(a).localeCompare(key(b), undefined, { numeric: true });
      rows.sort((a, b) => (down ? order(b, a) : order(a, b)));
      body.append(...rows);
    });
  });
}
