const NS = "http://www.w3.org/2000/svg"
const draw = (tag, attributes, text) => {
  const node = document.createElementNS(NS, tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  if (text !== undefined) node.textContent = text
  return node
}
const LEFT = 30, RIGHT = 74, TOP = 8, HIGH = 92
const said = (row, i) => `before step ${i}: ${row.exact ? "" : "at most "}${row.needed} needed, ${row.left} remain${row.needed > row.left ? ", too few" : ""}`

function chart(data, room, go) {
  const { rows } = data, n = rows.length, w = Math.min(24, Math.max(5, (room - LEFT - RIGHT) / Math.max(1, n)))
  const most = Math.max(1, ...rows.map(r => Math.max(r.needed, r.left))), floor = TOP + HIGH
  const width = LEFT + w * n + RIGHT, x = i => LEFT + (i + 0.5) * w, y = v => floor - HIGH * Math.max(0, v) / most
  const svg = draw("svg", { width, height: floor + 18, role: "img", "aria-label": data.words })
  svg.append(draw("line", { x1: LEFT, x2: LEFT + w * n, y1: floor, y2: floor, class: "axis" }))
  svg.append(draw("text", { x: LEFT - 5, y: TOP + 5, class: "label", "text-anchor": "end" }, most), draw("text", { x: LEFT - 5, y: floor, class: "label", "text-anchor": "end" }, "0"))
  svg.append(draw("text", { x: LEFT + w * n / 2, y: floor + 14, class: "label", "text-anchor": "middle" }, "steps"))
  rows.forEach((r, i) => r.needed > r.left && svg.append(draw("rect", { x: x(i) - w / 2, y: y(r.needed), width: w, height: Math.max(2, y(r.left) - y(r.needed)), class: "short" })))
  const path = f => rows.map((r, i) => `${i ? "L" : "M"}${x(i)} ${y(f(r))}`).join(" ")
  svg.append(draw("path", { d: path(r => r.left), class: "left" }), draw("path", { d: path(r => r.needed), class: "needed" }))
  if (w >= 8) rows.forEach((r, i) => svg.append(draw("circle", { cx: x(i), cy: y(r.needed), r: 2.6, class: r.exact ? "exact" : "bound" })))
  if (n) {
    const last = rows[n - 1], apart = Math.abs(y(last.left) - y(last.needed)) < 12
    const up = last.left >= last.needed ? -7 : 7
    svg.append(draw("text", { x: x(n - 1) + w / 2 + 4, y: y(last.left) + 4 + (apart ? up : 0), class: "label" }, "remaining"))
    svg.append(draw("text", { x: x(n - 1) + w / 2 + 4, y: y(last.needed) + 4 - (apart ? up : 0), class: "label" }, "needed"))
  }
  if (data.current !== null && data.current < n) svg.append(draw("rect", { x: x(data.current) - w / 2, y: TOP - 4, width: w, height: HIGH + 6, rx: 2, class: "here" }))
  rows.forEach((r, i) => {
    const hit = draw("rect", { x: x(i) - w / 2, y: 0, width: w, height: floor, class: data.clicks ? "hit" : "hit still" })
    hit.append(draw("title", {}, said(r, i)))
    if (data.clicks) hit.onclick = () => go(i)
    svg.append(hit)
  })
  return svg
}

function twin(data) {
  const details = el("details"), table = el("table"), head = el("tr"), body = el("tbody"), thead = el("thead")
  details.append(el("summary", "", "As a table"))
  for (const label of ["Step", "Token", "Needed to end", "Remaining", ""]) {
    const th = el("th", "", label)
    th.scope = "col"
    head.append(th)
  }
  data.rows.forEach((r, i) => {
    const tr = el("tr", r.needed > r.left ? "bad" : "")
    tr.append(el("td", "n", i), el("td", "mono", r.token), el("td", "n", `${r.exact ? "" : "≤ "}${r.needed}`), el("td", "n", r.left), el("td", "", r.needed > r.left ? "✕ too few" : ""))
    body.append(tr)
  })
  thead.append(head)
  table.append(thead, body)
  const scroll = el("div", "scroll")
  scroll.tabIndex = 0 // so that the keyboard can scroll it
  scroll.append(table)
  details.append(scroll)
  return details
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root"), box = el("div", "box"), words = el("p", data.warns ? "words warns" : "words")
  const open = root.querySelector("details")?.open
  words.append(el("b", "", data.warns ? "! " : ""), el("span", "", data.words))
  const key = el("p", "key muted")
  key.append(el("span", "", "● exact number"), el("span", "", "○ upper bound"), el("span", "", "▨ more needed than remain"))
  const table = twin(data)
  table.open = Boolean(open)
  root.replaceChildren(words, box, key, table)
  box.tabIndex = 0
  box.append(chart(data, root.clientWidth, i => setTriggerValue("step", i)))
}
