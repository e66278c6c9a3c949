const COLUMNS = [["raw", "Raw"], ["masked", "Masked"], ["renormalised", "Renormalised"], ["sampling", "Drawn with"]]
const FLOOR = 1e-6 // where the log scale starts
const logs = new WeakMap() // the switch outlives a change of data
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

function line(row, data, log, take) {
  const tr = el("tr", `${row.allowed ? "" : "masked"}${row.taken ? " taken" : ""}${row.allowed && !row.taken && data.takes ? " takes" : ""}`)
  tr.append(el("td", "rank", row.rank))
  const cell = el("td", "token"), button = el("button", row.allowed ? "" : "struck", row.text)
  const what = row.taken ? "taken at this step" : row.allowed ? (data.takes ? "allowed: click to take it instead" : "allowed") : "masked"
  button.title = `${row.text} (id ${row.id}): ${what}`
  button.setAttribute("aria-label", `${row.text}, ${what}`)
  button.disabled = !(row.allowed && data.takes && !row.taken)
  cell.append(button)
  if (row.taken) cell.append(el("span", "", " ◀"))
  tr.append(cell)
  tr.append(bar(row.raw, row.allowed ? "raw" : "out", log))
  tr.append(row.allowed ? bar(row.raw, "kept", log) : bar(0, "gone", log, "✕ masked"))
  tr.append(bar(row.renormalised, "kept", log))
  if (data.drawn) tr.append(bar(row.sampling, "kept", log))
  if (!button.disabled) tr.onclick = () => take(row.id)
  return tr
}

const draw = component => {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const log = logs.get(parentElement) ?? false
  const head = el("div", "head")
  head.append(el("span", "", data.takes ? "Click an allowed token to take it instead." : "Masked tokens are struck through; ◀ marks the token taken."))
  const scale = el("button", "scale", "log scale")
  scale.setAttribute("aria-pressed", String(log))
  head.append(scale)
  const table = el("table"), top = el("tr"), body = el("tbody"), thead = el("thead")
  top.append(el("th", "rank", "#"), el("th", "token", "Token"))
  for (const [name, label] of COLUMNS) if (name !== "sampling" || data.drawn) top.append(el("th", "", label))
  thead.append(top)
  for (const row of data.rows) body.append(line(row, data, log, id => setTriggerValue("take", { step: data.step, token: id })))
  const rest = el("tr", "rest"), label = el("td", "", `${data.rest.count.toLocaleString("en")} others, ${data.rest.allowed.toLocaleString("en")} allowed`)
  rest.append(el("td", "rank"), label)
  for (const [name] of COLUMNS) if (name !== "sampling" || data.drawn) rest.append(bar(data.rest[name], name === "raw" ? "raw" : "kept", log))
  body.append(rest)
  table.append(thead, body)
  const box = el("div", "box")
  box.append(table)
  scale.onclick = () => {
    logs.set(parentElement, !log)
    draw(component)
    root.querySelector(".scale").focus()
  }
  root.replaceChildren(head, box)
}
export default draw
