// The parts of the source, one row each: states, visits, probability lost there, "you are here".
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root"), before = root.querySelector(".box")?.scrollTop
  const box = el("div", "box"), table = el("table"), thead = el("thead"), top = el("tr"), body = el("tbody")
  const most = Math.max(1e-9, ...data.rows.map(r => r.lost)), more = data.complete ? "" : "≥ "
  for (const [label, cls] of [["Part", ""], ["States", "n"], ["Visits", "n"], ["−ln Z lost", "n"]]) {
    const th = el("th", cls, label)
    th.scope = "col"
    top.append(th)
  }
  thead.append(top)
  let here = null
  for (const row of data.rows) {
    const tr = el("tr", `row${row.here ? " here" : ""}${row.key === data.selected ? " sel" : ""}`)
    const part = el("td", "part"), button = el("button", "", row.name), lost = el("td", "n", row.visits ? row.lost.toFixed(2) : "")
    part.style.paddingLeft = `${18 + 14 * row.depth}px`
    button.title = row.title
    part.append(button)
    if (row.entered && !row.here) part.append(el("span", "mark", "entered"))
    if (row.here) { part.append(el("span", "mark", "you are here")); here ??= tr }
    if (row.visits) {
      const meter = el("span", "meter"), fill = el("i")
      fill.style.width = `${100 * Math.max(0, row.lost) / most}%`
      meter.append(fill)
      lost.append(meter)
    }
    tr.append(part, el("td", "n", row.states ? more + row.states.toLocaleString("en") : data.complete ? "0" : "?"), el("td", "n", row.visits || ""), lost)
    tr.onclick = () => setTriggerValue("select", row.key)
    body.append(tr)
  }
  table.append(thead, body)
  box.append(table)
  box.tabIndex = 0
  box.setAttribute("role", "region")
  box.setAttribute("aria-label", "Outline of the source")
  root.replaceChildren(box)
  if (before !== undefined) box.scrollTop = before
  if (here) hold(box, here)
}
