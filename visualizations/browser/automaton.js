const NS = "http://www.w3.org/2000/svg"
const views = new WeakMap() // per mounted component: {x, y, k} of the view and the window it belongs to
const make = (tag, attributes = {}, text) => {
  const node = document.createElementNS(NS, tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  if (text !== undefined) node.textContent = text
  return node
}
const classes = (base, item, names) => [base, ...names.filter(name => item[name])].join(" ")

function edge(e, selected) {
  const g = make("g", { class: classes("e", e, ["path", "allowed", "chain", "rule"]) + (e.key === selected ? " sel" : "") })
  g.append(make("path", { d: e.d }), make("path", { d: e.d, class: "hit" }))
  if (e.tip) {
    const [x, y] = e.tip, [a, b] = e.from, n = Math.hypot(x - a, y - b) || 1, u = (x - a) / n, v = (y - b) / n
    g.append(make("polygon", { points: `${x},${y} ${x - 8 * u - 3.5 * v},${y - 8 * v + 3.5 * u} ${x - 8 * u + 3.5 * v},${y - 8 * v - 3.5 * u}` }))
  }
  if (e.at && e.rule) {
    const w = 6.7 * [...e.label].length + 8
    g.append(make("rect", { x: e.at[0] - w / 2, y: e.at[1] - 9, width: w, height: 18, rx: 4 }))
  }
  if (e.at) g.append(make("text", { x: e.at[0], y: e.at[1] + 3.5 }, e.label))
  return g
}

function state(s, selected) {
  const g = make("g", { class: classes("s", s, ["path", "current", "waiting"]) + ("s" + s.id === selected ? " sel" : "") })
  if (s.start) {
    const x = s.x - s.r - (s.current || s.waiting ? 6 : 1)
    g.append(make("path", { class: "start", d: `M${x - 20} ${s.y}H${x - 6}` }), make("path", { class: "head", d: `M${x} ${s.y}l-8 -4v8z` }))
  }
  if (s.current || s.waiting) g.append(make("circle", { cx: s.x, cy: s.y, r: s.r + 4.5, class: "halo" }))
  g.append(make("circle", { cx: s.x, cy: s.y, r: s.r }))
  if (s.accepting) g.append(make("circle", { cx: s.x, cy: s.y, r: s.r - 3.5, class: "inner" }))
  g.append(make("text", { x: s.x, y: s.y }, s.id))
  if (s.more) g.append(make("text", { x: s.x + s.r + 3, y: s.y - s.r, class: "more" }, `+${s.more}`))
  return g
}

function box(b, selected) {
  const g = make("g", { class: `b${b.key === selected ? " sel" : ""}` })
  g.append(make("rect", { x: b.x, y: b.y - 11, width: b.w, height: b.h + 11, rx: 7 }))
  const most = Math.max(3, Math.floor(b.w / 6.4) - 1), label = [...b.label]
  g.append(make("text", { x: b.x + 6, y: b.y + 1 }, label.length > most ? label.slice(0, most - 1).join("") + "…" : b.label))
  return g
}

function picture(svg, data, send, tell) {
  const layer = make("g"), selected = data.selected
  const pick = (g, item, what, stop) => {
    g.setAttribute("tabindex", stop ? "0" : "-1")
    g.setAttribute("role", "button")
    g.setAttribute("aria-label", item.title)
    g.onclick = () => send(what)
    g.onkeydown = event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); send(what) } }
    g.onpointerenter = g.onfocus = () => tell(item.title)
    g.onpointerleave = g.onblur = () => tell()
    layer.append(g)
  }
  data.boxes.forEach(b => { const g = box(b, selected); g.onclick = () => send(b.key); layer.append(g) })
  // Tab stops at the middle and at what is one step from it; a hundred stops would be a wall
  const middle = (data.states.find(s => "s" + s.id === selected) ?? data.states.find(s => s.current || s.waiting) ?? data.states[0])?.id
  const near = new Set(data.edges.filter(e => e.source === middle).map(e => e.target)).add(middle)
  data.edges.forEach(e => pick(edge(e, selected), e, e.key, e.source === middle))
  // what matters is drawn last, on top
  for (const g of [...layer.querySelectorAll(".e.path"), ...layer.querySelectorAll(".e.allowed")]) layer.append(g)
  data.states.forEach(s => pick(state(s, selected), s, "s" + s.id, near.has(s.id)))
  svg.replaceChildren(layer)
  return layer
}

function steer(svg, layer, data, view, hint) {
  const show = () => layer.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.k})`)
  const size = () => [svg.clientWidth || 600, svg.clientHeight || data.box]
  const zoom = (factor, x, y) => {
    const k = Math.min(3, Math.max(0.08, view.k * factor))
    view.x = x - (x - view.x) * k / view.k; view.y = y - (y - view.y) * k / view.k; view.k = k
    show()
  }
  const move = (x, y) => { view.x += x; view.y += y; show() }
  const fit = () => {
    const [w, h] = size()
    view.k = Math.min(1.15, (w - 20) / (data.width + 30), (h - 34) / (data.height + 12))
    view.x = (w - (data.width - 18) * view.k) / 2; view.y = (h - data.height * view.k) / 2 + 4
    show()
  }
  const here = () => {
    const [w, h] = size(), s = data.states.find(t => "s" + t.id === data.selected) ?? data.states.find(t => t.current || t.waiting || t.id === data.middle) ?? data.states[0]
    fit()
    if (!s || view.k > 0.8) return
    // as much around it as can still be read: the states one edge away, the state itself always inside
    const near = data.edges.filter(e => e.source === s.id || e.target === s.id)
    const around = data.states.filter(t => t === s || near.some(e => e.source === t.id || e.target === t.id))
    const xs = around.map(t => t.start ? t.x - 20 : t.x), ys = around.map(t => t.y)
    const left = Math.min(...xs) - 40, right = Math.max(...xs) + 40, top = Math.min(...ys) - 40, bottom = Math.max(...ys) + 40
    view.k = Math.min(1, Math.max(0.8, Math.min(w / (right - left), h / (bottom - top))))
    const inside = (low, high, at, room) => Math.min(Math.max((room - (high + low) * view.k) / 2, 60 - at * view.k), room - 60 - at * view.k)
    view.x = (right - left) * view.k > w ? w * 0.35 - s.x * view.k : inside(left, right, s.x, w)
    view.x = Math.min(30, Math.max(view.x, w - 20 - data.width * view.k)) // no empty room beside a picture that is cut
    view.y = data.height * view.k < h - 30 ? (h - data.height * view.k) / 2 : inside(top, bottom, s.y, h)
    show()
  }
  svg.onwheel = event => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return hint() // plain wheel scrolls the page
    event.preventDefault()
    const at = svg.getBoundingClientRect()
    zoom(Math.exp(-(event.deltaY || event.deltaX) / 300), event.clientX - at.x, event.clientY - at.y)
  }
  const down = new Map() // pointers on the picture: one pans, two zoom
  let dragged = false
  svg.onpointerdown = event => { if (!down.size) dragged = false; down.set(event.pointerId, [event.clientX, event.clientY]) }
  svg.onpointermove = event => {
    const last = down.get(event.pointerId)
    if (!last || (event.pointerType === "mouse" && !event.buttons)) return
    const now = [event.clientX, event.clientY]
    if (!dragged && Math.hypot(now[0] - last[0], now[1] - last[1]) < 4) return
    dragged = true
    if (!svg.hasPointerCapture(event.pointerId)) svg.setPointerCapture(event.pointerId)
    svg.classList.add("drag")
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1]
    if (other) {
      const at = svg.getBoundingClientRect(), far = p => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1
      zoom(far(now) / far(last), (now[0] + other[0]) / 2 - at.x, (now[1] + other[1]) / 2 - at.y)
    } else move(now[0] - last[0], now[1] - last[1])
    down.set(event.pointerId, now)
  }
  svg.onpointerup = svg.onpointercancel = event => { down.delete(event.pointerId); svg.classList.remove("drag") }
  svg.onpointerleave = event => { if (!svg.hasPointerCapture(event.pointerId)) down.delete(event.pointerId) }
  const middle = factor => { const [w, h] = size(); zoom(factor, w / 2, h / 2) }
  const keys = { "+": () => middle(1.25), "=": () => middle(1.25), "-": () => middle(0.8), 0: fit, ".": here }
  const pans = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }
  svg.onkeydown = event => {
    const act = event.shiftKey && pans[event.key] ? () => move(...pans[event.key]) : !event.ctrlKey && !event.metaKey && !event.altKey && keys[event.key]
    if (!act) return
    event.preventDefault(); event.stopPropagation()
    act()
  }
  return { show, fit, here, zoom: middle }
}

const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "paint-order"]
function standalone(svg, data) { // the styles used are written into the copy, so that it stands alone
  const copy = svg.cloneNode(true), from = [...svg.querySelectorAll("*")], to = [...copy.querySelectorAll("*")]
  from.forEach((node, i) => {
    const style = getComputedStyle(node)
    for (const name of STYLES) to[i].style.setProperty(name, style.getPropertyValue(name))
    for (const name of ["tabindex", "role"]) to[i].removeAttribute(name)
  })
  copy.firstChild.removeAttribute("transform")
  copy.setAttribute("xmlns", NS)
  copy.setAttribute("viewBox", `-32 -26 ${data.width + 48} ${data.height + 44}`)
  copy.setAttribute("width", data.width + 48)
  copy.setAttribute("height", data.height + 44)
  copy.style.background = getComputedStyle(svg.parentNode).backgroundColor
  return new XMLSerializer().serializeToString(copy)
}

function save(name, blob) {
  const link = el("a")
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1000)
}

function savePng(svg, data) {
  const image = new Image(), canvas = el("canvas"), scale = Math.min(2, 8000 / (data.width + 48))
  image.onload = () => {
    canvas.width = image.width * scale; canvas.height = image.height * scale
    const ink = canvas.getContext("2d")
    ink.fillStyle = getComputedStyle(svg.parentNode).backgroundColor
    ink.fillRect(0, 0, canvas.width, canvas.height)
    ink.drawImage(image, 0, 0, canvas.width, canvas.height)
    canvas.toBlob(blob => save(data.name + ".png", blob))
  }
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(standalone(svg, data))
}

function tools(bar, svg, data, steering, send) {
  const here = () => data.states.some(s => s.current) && !data.selected ? steering.here() : send("")
  const button = (label, title, go) => {
    const made = el("button", "", label)
    made.title = title
    made.setAttribute("aria-label", title)
    made.onclick = go
    return made
  }
  const group = (...items) => { const made = el("span", "group"); made.append(...items); return made }
  const svgBlob = () => new Blob([standalone(svg, data)], { type: "image/svg+xml" })
  bar.replaceChildren(
    group(button("−", "Zoom out (−)", () => steering.zoom(0.8)), button("+", "Zoom in (+)", () => steering.zoom(1.25)),
      button("Fit", "Show all of it (0)", steering.fit), button("Here", "Back to the current state (.)", here)),
    group(el("span", "muted", "Save"), button("SVG", "Save as SVG", () => save(data.name + ".svg", svgBlob())),
      button("PNG", "Save as PNG", () => savePng(svg, data)),
      button("DOT", "Save as DOT, for Graphviz", () => save(data.name + ".dot", new Blob([data.dot], { type: "text/vnd.graphviz" })))))
}

function legend(data) {
  const line = el("div", "legend")
  const add = (shape, label) => {
    const item = el("span"), svg = make("svg", { viewBox: "0 0 26 14", "aria-hidden": "true" })
    svg.append(shape)
    item.append(svg, label)
    line.append(item)
  }
  const stroke = cls => { const g = make("g", { class: `e ${cls}` }); g.append(make("path", { d: "M1 7H25" })); return g }
  const ring = (cls, r) => { const g = make("g", { class: `s ${cls}` }); r.forEach(q => g.append(make("circle", { cx: 13, cy: 7, r: q, class: q > 6 ? "halo" : q < 4 ? "inner" : "" }))); return g }
  const pill = () => { const g = make("g", { class: "e rule" }); g.append(make("rect", { x: 2, y: 1, width: 22, height: 12, rx: 4 })); return g }
  const used = name => data.edges.some(e => e[name]) || data.states.some(s => s[name])
  if (used("current")) add(ring("current", [6.5, 4.5]), "you are here")
  if (used("waiting")) add(ring("waiting", [6.5, 4.5]), "goes on here later")
  if (used("path")) add(stroke("path"), "path taken")
  if (used("allowed")) add(stroke("allowed"), "allowed now")
  if (used("accepting")) add(ring("", [6, 3.5]), "accepting")
  if (used("chain")) add(stroke("chain"), "several bytes")
  if (used("rule")) add(pill(), "reads a rule: click to open it")
  return line
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  if (!root.querySelector(".frame")) {
    const frame = el("div", "frame"), hint = el("div", "hint", "Ctrl + wheel zooms, drag pans")
    hint.setAttribute("aria-hidden", "true")
    frame.append(make("svg", { role: "group", tabindex: "0" }), hint)
    root.append(el("div", "tools"), frame, el("div", "detail"), el("div", "foot"))
  }
  const [bar, frame, detail, foot] = root.children, svg = frame.querySelector("svg"), hint = frame.querySelector(".hint")
  svg.setAttribute("aria-label", "Automaton. Plus and minus zoom, 0 shows all, Shift and arrows pan; its text twin is below the picture.")
  frame.style.height = `${Math.max(150, Math.min(data.box, data.height + 80))}px`
  const standing = data.edges.find(e => e.key === data.selected) ?? data.states.find(s => "s" + s.id === data.selected) ?? data.states.find(s => s.current || s.waiting)
  const tell = text => { detail.textContent = text ?? standing?.title ?? "" }
  const send = what => setTriggerValue("select", what)
  tell()
  const focused = [...svg.querySelectorAll("[tabindex]")].indexOf(svg.getRootNode().activeElement)
  const layer = picture(svg, data, send, tell)
  const place = `${data.width} ${data.height} ${data.states.map(s => s.id)} ${data.states.find(s => s.current)?.id}`
  const view = views.get(parentElement) ?? { x: 0, y: 0, k: 1, place: "" }
  let fading
  const steering = steer(svg, layer, data, view, () => { hint.classList.add("on"); clearTimeout(fading); fading = setTimeout(() => hint.classList.remove("on"), 1200) })
  if (view.place !== place) steering.here()
  else steering.show()
  view.place = place
  views.set(parentElement, view)
  if (focused >= 0) (svg.querySelector(".sel[tabindex]") ?? svg.querySelectorAll("[tabindex]")[focused])?.focus({ preventScroll: true })
  tools(bar, svg, data, steering, send)
  foot.replaceChildren(legend(data), ...(data.caption ? [el("div", "caption", data.caption)] : []))
}
