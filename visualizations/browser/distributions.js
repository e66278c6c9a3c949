const FLOOR = 1e-6 // where the log scale starts
const logs = new WeakMap() // the switch outlives a change of data
const shown = new WeakMap() // the step that was drawn last
const share = (p, log) => log ? Math.max(0, 1 - Math.log(Math.max(p, FLOOR)) / Math.log(FLOOR)) : p
const percent = p => p <= 0 ? "0 %" : p < 1e-4 ? "<0.01 %" : p < 0.0995 ? `${Number((100 * p).toPrecision(2))} %` : `${(100 * p).toFixed(0)} %`

function bar(p, cls, log, text) {
  const cell = el("td"), box = el("div", `bar ${cls}`), fill = el("i")
  fill.style.width = `${100 * Math.min(1, share(p, log))}%`
  if (p > 0) box.append(fill)
  box.append(el("b", "", text ?? percent(p)))
  cell.append(box)
  return cell
}

function line(row, data, log, select) {
  const chosen = row.id === data.selected
  const tr = el("tr", `row${row.allowed ? "" : " masked"}${row.taken ? " taken" : ""}${chosen ? " selected" : ""}`)
  tr.append(el("td", "rank", row.rank))
  const cell = el("td", "token"), button = el("button", row.allowed ? "" : "struck", row.text)
  const what = (row.allowed ? "allowed" : row.narrowed ? "taken away by the policy or the limit" : "masked") + (row.taken ? ", taken at this step" : "")
  button.title = `${row.text} (id ${row.id}): ${what}; click to see why`
  button.setAttribute("aria-label", `${row.text}, ${what}`)
  button.setAttribute("aria-pressed", String(chosen))
  cell.append(button)
  if (row.taken) cell.append(el("span", "", " ◀"))
  tr.append(cell)
  for (const { name } of data.columns) {
    if (name === "raw") tr.append(bar(row.raw, row.allowed ? "raw" : "out", log))
    else if (name === "masked" && !row.allowed) tr.append(bar(0, "gone", log, row.narrowed ? "◐ taken away" : "✕ masked"))
    else tr.append(bar(row[name], "kept", log))
  }
  tr.onclick = () => select(row.id)
  return tr
}

const draw = component => {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const log = logs.get(parentElement) ?? false
  const top = root.querySelector(".box")?.scrollTop ?? 0
  const head = el("div", "head")
  head.append(el("span", "", "Click a token to see why it may be taken or not. ◀ was taken; struck through: masked."))
  const scale = el("button", "scale", "log scale")
  scale.setAttribute("aria-pressed", String(log))
  head.append(scale)
  const table = el("table"), names = el("tr"), body = el("tbody"), thead = el("thead")
  names.append(el("th", "rank", "#"), el("th", "token", "Token"))
  for (const { label } of data.columns) names.append(el("th", "", label))
  for (const cell of names.children) cell.scope = "col"
  thead.append(names)
  for (const row of data.rows) body.append(line(row, data, log, id => setTriggerValue("select", { step: data.step, token: id })))
  const rest = el("tr", "rest"), label = el("td", "", `${data.rest.count.toLocaleString("en")} others, ${data.rest.allowed.toLocaleString("en")} allowed`)
  rest.append(el("td", "rank"), label)
  for (const { name } of data.columns) rest.append(bar(data.rest[name], name === "raw" ? "raw" : "kept", log))
  body.append(rest)
  table.append(thead, body)
  const box = el("div", "box")
  box.append(table)
  box.tabIndex = 0
  box.setAttribute("role", "region")
  box.setAttribute("aria-label", "Distributions of this step")
  scale.onclick = () => {
    logs.set(parentElement, !log)
    draw(component)
    root.querySelector(".scale").focus()
  }
  const same = shown.get(parentElement) === data.step
  shown.set(parentElement, data.step)
  root.replaceChildren(head, box)
  if (same) box.scrollTop = top // a selection does not move the list
}
export default draw
