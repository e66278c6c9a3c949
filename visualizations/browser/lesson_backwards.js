// States with the bytes that an end is away, as far as they are found yet.
const NS = "http://www.w3.org/2000/svg"
const make = (tag, attributes = {}, text) => {
  const node = document.createElementNS(NS, tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  if (text !== undefined) node.textContent = text
  return node
}

function edge(e) {
  const g = make("g", { class: `e ${e.kind}` })
  g.append(make("path", { d: e.d }))
  if (e.tip) {
    const [x, y] = e.tip, [a, b] = e.from, n = Math.hypot(x - a, y - b) || 1, u = (x - a) / n, v = (y - b) / n
    g.append(make("polygon", { points: `${x},${y} ${x - 8 * u - 3.5 * v},${y - 8 * v + 3.5 * u} ${x - 8 * u + 3.5 * v},${y - 8 * v - 3.5 * u}` }))
  }
  if (e.at) g.append(make("text", { x: e.at[0], y: e.at[1] + 3.5 }, e.label))
  return g
}

function state(s) {
  const g = make("g", { class: `s ${s.kind}`, tabindex: "0", role: "img", "aria-label": s.title })
  if (s.start) g.append(make("path", { class: "start", d: `M${s.x - s.r - 18} ${s.y}h12l-4 -4m4 4l-4 4` }))
  g.append(make("circle", { cx: s.x, cy: s.y, r: s.r }))
  if (s.accepting) g.append(make("circle", { cx: s.x, cy: s.y, r: s.r - 3.5, class: "inner" }))
  g.append(make("text", { x: s.x, y: s.y }, s.label), make("title", {}, s.title))
  return g
}

export default function (component) {
  const { data, parentElement } = component, root = parentElement.querySelector(".root")
  const scroll = el("div", "scroll"), detail = el("p", "detail muted", "")
  const svg = make("svg", { viewBox: `-24 -6 ${data.width + 34} ${data.height + 14}`, width: Math.round((data.width + 34) * 1.15), role: "group", "aria-label": "States and how far an end is away" })
  svg.append(...data.edges.map(edge))
  for (const s of data.nodes) {
    const g = state(s)
    g.onpointerenter = g.onfocus = () => { detail.textContent = s.title }
    svg.append(g)
  }
  const legend = el("div", "legend")
  for (const [cls, sign, words] of [["alive", "2", "alive: so many bytes to an end"], ["open", "?", "not decided yet"], ["dead", "✕", "dead"]]) {
    const item = el("span")
    item.append(el("b", cls, sign), document.createTextNode(words))
    legend.append(item)
  }
  scroll.append(svg)
  root.replaceChildren(scroll, legend, detail)
}
