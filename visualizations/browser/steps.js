const HEAD = [["Step", "n"], ["Token", ""], ["How", ""], ["Allowed", "n"], ["Z", "n"], ["−ln Z so far", "n"], ["Model wanted", ""], ["Speaking", ""]]

function line(row, i, current, go) {
  const tr = el("tr", `row${i === current ? " current" : ""}`)
  if (i === current) tr.setAttribute("aria-current", "step")
  const token = el("td", "t"), button = el("button", "", row.token), z = el("td", "n", row.z < 0.001 ? row.z.toExponential(0) : row.z.toFixed(3))
  const meter = el("span", "meter"), fill = el("i")
  fill.style.width = `${100 * Math.min(1, row.z)}%`
  meter.append(fill)
  z.append(meter)
  token.append(button)
  const wanted = el("td")
  if (row.wanted) wanted.append(el("span", "wanted struck", row.wanted))
  const place = el("td", "mono muted", row.place)
  place.title = row.place
  tr.append(el("td", "n", i), token, el("td", "muted", row.kind), el("td", "n", row.allowed.toLocaleString("en")), z, el("td", "n", row.total.toFixed(2)), wanted, place)
  tr.onclick = () => go(i)
  return tr
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const box = el("div", "box"), table = el("table"), thead = el("thead"), top = el("tr"), body = el("tbody")
  for (const [label, cls] of HEAD) top.append(el("th", cls, label))
  thead.append(top)
  data.rows.forEach((row, i) => body.append(line(row, i, data.current, k => setTriggerValue("step", k))))
  table.append(thead, body)
  box.append(table)
  const before = root.querySelector(".box")?.scrollTop ?? 0
  root.replaceChildren(box)
  box.scrollTop = before
  const here = body.children[data.current]
  if (here) {
    const a = box.getBoundingClientRect(), b = here.getBoundingClientRect()
    if (b.top < a.top + 24 || b.bottom > a.bottom) box.scrollTop += b.top - a.top - a.height / 2
  }
}
