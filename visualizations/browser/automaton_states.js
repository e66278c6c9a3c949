// The states known, searched on the server: there may be thousands.
const waits = new WeakMap()

function head(component, root) {
  const { data, setStateValue } = component
  const label = el("label", "search", "Find a state "), input = el("input")
  input.type = "search"
  input.placeholder = "number, part or what remains"
  input.value = data.query
  input.oninput = () => {
    clearTimeout(waits.get(root))
    waits.set(root, setTimeout(() => setStateValue("query", input.value), 250))
  }
  label.append(input)
  root.append(label, el("div", "count"), el("div", "box"))
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  if (!root.querySelector(".search")) head(component, root) // typing goes on while it is drawn anew
  const [, count, box] = root.children
  const shown = data.found > data.rows.length ? `the first ${data.rows.length} of ${data.found.toLocaleString("en")}` : `${data.found.toLocaleString("en")}`
  count.textContent = `${shown} of ${data.known.toLocaleString("en")} states${data.complete ? "" : " known so far"}`
  const table = el("table"), thead = el("thead"), top = el("tr"), body = el("tbody")
  const columns = [["State", "n"], ["", ""], ...(data.rules ? [["Rule", ""]] : []), ["What remains", ""], ["Part", ""], ["Ways out", "n"], ["Visits", "n"]]
  for (const [label, cls] of columns) {
    const th = el("th", cls, label || "Marks")
    th.scope = "col"
    if (!label) th.firstChild.replaceWith(el("span", "sr", "Marks"))
    top.append(th)
  }
  thead.append(top)
  for (const row of data.rows) {
    const tr = el("tr", `row${row.current ? " here" : ""}${"s" + row.id === data.selected ? " sel" : ""}`)
    const id = el("td", "n"), button = el("button", "mono", row.id), marks = el("td", "marks", `${row.current ? "●" : ""}${row.accepting ? "◎" : ""}`)
    marks.title = [row.current ? "you are here" : "", row.accepting ? "accepting" : ""].filter(Boolean).join(", ")
    id.append(button)
    const label = el("td", "long", row.label), part = el("td", "long mono muted", row.part)
    label.title = row.label
    part.title = row.part
    tr.append(id, marks, ...(data.rules ? [el("td", "mono", row.rule)] : []), label, part, el("td", "n", row.ways), el("td", "n", row.visits || ""))
    tr.onclick = () => setTriggerValue("select", "s" + row.id)
    body.append(tr)
  }
  table.append(thead, body)
  const before = box.scrollTop
  box.tabIndex = 0
  box.setAttribute("role", "region")
  box.setAttribute("aria-label", "Table of states")
  box.replaceChildren(table)
  box.scrollTop = before
}
