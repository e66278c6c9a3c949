export default function (component) {
  const { data, parentElement } = component, root = parentElement.querySelector(".root")
  const table = el("table"), head = el("tr"), scroll = el("div", "scroll")
  for (const [cls, words] of [["", "Method"], ["", "Time of one mask (logarithmic)"], ["n", "Tokens tried"], ["n", "Bytes read"], ["n", "Keeps"], ["n", "Prepares once"], ["", "Same mask?"]]) {
    const cell = el("th", cls, words)
    cell.scope = "col"
    head.append(cell)
  }
  table.append(head)
  for (const row of data.rows) {
    const line = el("tr"), name = el("td", "name"), time = el("td", "time"), bar = el("i")
    name.append(el("b", "", row.name), el("small", "muted", row.how))
    bar.style.width = `${Math.min(100, Math.round(100 * row.share))}%`
    time.append(bar, el("span", "", row.time))
    line.append(name, time, ...[row.checks, row.bytes, row.memory, row.prepared].map(text => el("td", "n", text)), el("td", row.same ? "same" : "differs", row.same ? "✓ the same" : "✕ differs"))
    table.append(line)
  }
  scroll.append(table)
  root.replaceChildren(el("div", "asked", data.asked), scroll)
}
