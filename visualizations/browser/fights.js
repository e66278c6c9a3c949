const HEAD = [["Part", ""], ["Share of the cost", ""], ["Nats a run", "n"], ["Steps", "n opt"], ["Mean Z", "n opt"], ["The model wanted instead", ""]]
const small = x => x > 0 && x < 0.01 ? "<0.01" : x.toFixed(2)

function details(row) {
  const box = el("div", "details")
  if (row.advice) box.append(el("p", "", `What to try: ${row.advice}`))
  for (const moment of row.moments) {
    const line = el("p", "moment")
    line.append(el("span", "muted", `seed ${moment.seed}, step ${moment.step}, ${small(moment.cost)} nats, `), moment.before ? el("span", "mono", `…${moment.before}▮`) : el("span", "muted", "at the very beginning"))
    if (moment.wanted) line.append(el("span", "mono token", moment.wanted), el("span", "muted", ` ${moment.mass}`))
    box.append(line)
  }
  return box
}

function line(row, i, pick) {
  const tr = el("tr", `row${row.selected ? " selected" : ""}`)
  const place = el("td", "place"), button = el("button", "mono"), share = el("td", "share"), wanted = el("td", "wanted")
  row.place.split(/(?=\/)/).forEach((part, n) => button.append(...(n ? [el("wbr"), part] : [part]))) // breaks before a slash
  button.setAttribute("aria-pressed", String(row.selected))
  button.title = "Select this part in the text"
  place.append(button)
  if (row.keyword) place.append(el("span", "keyword", row.keyword))
  const meter = el("span", "meter"), fill = el("i")
  fill.style.width = `${100 * Math.min(1, row.share)}%`
  meter.append(fill)
  share.append(meter, el("span", "", row.percent))
  for (const wish of row.wanted) {
    const chip = el("span", "wish")
    chip.append(el("span", "mono token", wish.text), el("span", "muted", wish.mass))
    wanted.append(chip)
  }
  tr.append(place, share, el("td", "n", small(row.cost)), el("td", "n opt", row.visits), el("td", "n opt", small(row.z)), wanted)
  tr.onclick = () => pick(i)
  return tr
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root"), top = root.querySelector(".box")?.scrollTop ?? 0
  const box = el("div", "box"), table = el("table"), thead = el("thead"), heading = el("tr"), body = el("tbody")
  for (const [label, cls] of HEAD) {
    const th = el("th", cls, label)
    th.scope = "col"
    heading.append(th)
  }
  thead.append(heading)
  data.rows.forEach((row, i) => {
    body.append(line(row, i, k => setTriggerValue("select", k)))
    if (!row.selected || !(row.advice || row.moments.length)) return
    const tr = el("tr", "more"), cell = el("td")
    cell.colSpan = HEAD.length
    cell.append(details(row))
    tr.append(cell)
    body.append(tr)
  })
  table.append(thead, body)
  box.append(table)
  if (data.more) box.append(el("p", "muted", `and ${data.more} more that cost less`))
  const focused = root.getRootNode().activeElement?.closest?.("button")
  const was = focused ? [...root.querySelectorAll("button")].indexOf(focused) : -1
  root.replaceChildren(box)
  box.scrollTop = top
  if (was >= 0) root.querySelectorAll("button")[was]?.focus({ preventScroll: true })
}
