const NS = "http://www.w3.org/2000/svg"
const views = new WeakMap() // per mounted component: {x, y, k} of the view and the window it belongs to
const make = (tag, attributes = {}, text) => {
  const node = document.createElementNS(NS, tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  if (text !== undefined) node.textContent = text
  return node
}

function edge(e, i, data) {
  const g = make("g", { class: `e${e.path ? " path" : ""}${e.allowed ? " allowed" : ""}${e.chain ? " chain" : ""}${data.selected === "e" + i ? " sel" : ""}` })
  g.append(make("title", {}, e.title), make("path", { d: e.d }), make("path", { d: e.d, class: "hit" }))
  if (e.tip) {
    const [x, y] = e.tip, [a, b] = e.from, n = Math.hypot(x - a, y - b) || 1, u = (x - a) / n, v = (y - b) / n
    g.append(make("polygon", { points: `${x},${y} ${x - 8 * u - 3.5 * v},${y - 8 * v + 3.5 * u} ${x - 8 * u + 3.5 * v},${y - 8 * v - 3.5 * u}` }))
  }
  if (e.at) g.append(make("text", { x: e.at[0], y: e.at[1] + 3 }, e.label))
  return g
}

function state(s, data) {
  const g = make("g", { class: `s${s.path ? " path" : ""}${s.current ? " current" : ""}${data.selected === "s" + s.id ? " sel" : ""}` })
  g.append(make("title", {}, s.title))
  if (s.current) {
    g.append(make("circle", { cx: s.x, cy: s.y, r: s.r + 4.5, class: "halo" }))
    g.append(make("path", { class: "pin", d: `M${s.x} ${s.y + s.r + 7} l-6 10 h12 z` }))
  }
  g.append(make("circle", { cx: s.x, cy: s.y, r: s.r }))
  if (s.accepting) g.append(make("circle", { cx: s.x, cy: s.y, r: s.r - 3.5 }))
  g.append(make("text", { x: s.x, y: s.y }, s.id))
  if (s.more) g.append(make("text", { x: s.x, y: s.y - s.r - 8, class: "more" }, `+${s.more}`))
  return g
}

function pick(node, label, stop, go) {
  node.setAttribute("tabindex", stop ? "0" : "-1")
  node.setAttribute("role", "button")
  node.setAttribute("aria-label", label)
  node.onclick = go
  node.onkeydown = event => { if (event.key === "Enter") { event.preventDefault(); go() } }
}

function picture(svg, data, send) {
  const layer = make("g")
  // Tab stops at the current state and the edges and states one step from it; a hundred stops would be a wall
  const here = data.states.find(s => s.current)?.id
  const near = new Set(data.edges.filter(e => e.source === here).map(e => e.target)).add(here)
  data.edges.forEach((e, i) => { const g = edge(e, i, data); pick(g, e.title, e.source === here, () => send("e" + i)); layer.append(g) })
  // what matters is drawn last, on top
  for (const g of [...layer.querySelectorAll(".path"), ...layer.querySelectorAll(".allowed")]) layer.append(g)
  for (const s of data.states) { const g = state(s, data); pick(g, s.title, near.has(s.id), () => send("s" + s.id)); layer.append(g) }
  svg.replaceChildren(layer)
  return layer
}

function steer(svg, layer, data, view) {
  const show = () => layer.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.k})`)
  const size = () => [svg.clientWidth || 600, svg.clientHeight || data.box]
  const zoom = (factor, x, y) => {
    const k = Math.min(3, Math.max(0.08, view.k * factor))
    view.x = x - (x - view.x) * k / view.k; view.y = y - (y - view.y) * k / view.k; view.k = k
    show()
  }
  const fit = () => {
    const [w, h] = size()
    view.k = Math.min(1.4, (w - 24) / data.width, (h - 56) / (data.height + 16))
    view.x = (w - data.width * view.k) / 2; view.y = (h - data.height * view.k) / 2 + 10
    show()
  }
  const here = () => {
    const [w, h] = size(), s = data.states.find(t => t.current)
    fit()
    if (!s || view.k > 0.85) return
    // as much around it as can still be read: the states one edge away, the current one always inside
    const near = data.edges.filter(e => e.source === s.id || e.target === s.id)
    const around = data.states.filter(t => t === s || near.some(e => e.source === t.id || e.target === t.id))
    const xs = around.map(t => t.x), ys = around.map(t => t.y)
    const left = Math.min(...xs) - 40, right = Math.max(...xs) + 40, top = Math.min(...ys) - 40, bottom = Math.max(...ys) + 40
    view.k = Math.min(1, Math.max(0.8, Math.min(w / (right - left), h / (bottom - top))))
    const inside = (low, high, at, room) => Math.min(Math.max((room - (high + low) * view.k) / 2, 60 - at * view.k), room - 60 - at * view.k)
    view.x = (right - left) * view.k > w ? w * 0.35 - s.x * view.k : inside(left, right, s.x, w)
    view.y = inside(top, bottom, s.y, h)
    show()
  }
  svg.onwheel = event => {
    if (!event.ctrlKey && !event.shiftKey) return // plain wheel scrolls the page
    event.preventDefault()
    const box = svg.getBoundingClientRect()
    zoom(Math.exp(-(event.deltaY || event.deltaX) / 300), event.clientX - box.x, event.clientY - box.y)
  }
  let from = null
  svg.onpointerdown = event => { from = [event.clientX - view.x, event.clientY - view.y, event.clientX, event.clientY] }
  svg.onpointermove = event => {
    if (!from || !event.buttons || Math.hypot(event.clientX - from[2], event.clientY - from[3]) < 4) return
    if (!svg.hasPointerCapture(event.pointerId)) svg.setPointerCapture(event.pointerId)
    svg.classList.add("drag")
    view.x = event.clientX - from[0]; view.y = event.clientY - from[1]
    show()
  }
  svg.onpointerup = svg.onpointercancel = () => { from = null; svg.classList.remove("drag") }
  const middle = factor => { const [w, h] = size(); zoom(factor, w / 2, h / 2) }
  return { show, fit, here, zoom: middle }
}

function save(svg, data) { // the styles used are written into the copy, so that it stands alone
  const copy = svg.cloneNode(true), from = svg.querySelectorAll("*"), to = copy.querySelectorAll("*")
  from.forEach((node, i) => {
    const style = getComputedStyle(node)
    for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline"]) to[i].style.setProperty(name, style.getPropertyValue(name))
  })
  copy.firstChild.removeAttribute("transform")
  copy.setAttribute("xmlns", NS)
  copy.setAttribute("viewBox", `-10 -24 ${data.width + 20} ${data.height + 34}`)
  const link = el("a")
  link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }))
  link.download = "automaton.svg"
  link.click()
  URL.revokeObjectURL(link.href)
}

function legend(data) {
  const box = el("div", "legend")
  const add = (shape, label) => {
    const item = el("span"), svg = make("svg", { viewBox: "0 0 26 14" })
    svg.append(shape)
    item.append(svg, label)
    box.append(item)
  }
  const stroke = cls => { const g = make("g", { class: `e ${cls}` }); g.append(make("path", { d: "M1 7H25" })); return g }
  const ring = (cls, r) => { const g = make("g", { class: `s ${cls}` }); r.forEach(q => g.append(make("circle", { cx: 13, cy: 7, r: q, class: q > 6 ? "halo" : "" }))); return g }
  const used = name => data.edges.some(e => e[name]) || data.states.some(s => s[name])
  if (used("current")) add(ring("current", [6.5, 4]), "you are here")
  if (used("path")) add(stroke("path"), "path taken")
  if (used("allowed")) add(stroke("allowed"), "allowed now")
  if (used("accepting")) add(ring("", [6, 3.5]), "accepting")
  if (used("chain")) add(stroke("chain"), "several bytes in one edge")
  return box
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  let frame = root.querySelector(".frame")
  if (!frame) {
    frame = el("div", "frame")
    frame.append(make("svg", { role: "group", "aria-label": "Automaton; its text twin is below the picture" }), el("div", "tools"))
    root.append(frame)
  }
  frame.style.height = `${Math.max(150, Math.min(data.box, data.height + 90))}px`
  root.querySelector(":scope > .legend")?.remove()
  root.append(legend(data))
  const svg = frame.querySelector("svg"), tools = frame.querySelector(".tools")
  const focused = [...svg.querySelectorAll("[tabindex]")].indexOf(svg.getRootNode().activeElement)
  const layer = picture(svg, data, what => setTriggerValue("select", what))
  const place = `${data.width} ${data.height} ${data.states.map(s => s.id)} ${data.states.find(s => s.current)?.id}`
  const view = views.get(parentElement) ?? { x: 0, y: 0, k: 1, place: "" }
  const steering = steer(svg, layer, data, view)
  if (view.place !== place) steering.here()
  else steering.show()
  view.place = place
  views.set(parentElement, view)
  if (focused >= 0) svg.querySelectorAll("[tabindex]")[focused]?.focus({ preventScroll: true })
  tools.replaceChildren()
  for (const [label, title, go] of [["−", "Zoom out", () => steering.zoom(0.8)], ["+", "Zoom in", () => steering.zoom(1.25)], ["Fit", "Show all of it", steering.fit], ["Here", "Back to the current state", steering.here], ["SVG", "Save the picture", () => save(svg, data)]]) {
    const button = el("button", "", label)
    button.title = title
    button.onclick = go
    tools.append(button)
  }
}
