const NS = "http://www.w3.org/2000/svg"
const draw = (tag, attributes, text) => {
  const node = document.createElementNS(NS, tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  if (text !== undefined) node.textContent = text
  return node
}
const LEFT = 34, RIGHT = 38, TOP = 10, HIGH = 46, GAP = 24, LOW = 46

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const box = el("div", "box"), n = data.points.length
  root.replaceChildren(box)
  const room = Math.max(200, root.clientWidth - LEFT - RIGHT)
  const w = Math.min(28, Math.max(7, room / Math.max(1, n)))
  const width = LEFT + w * n + RIGHT, height = TOP + HIGH + GAP + LOW + 6, floor = TOP + HIGH + GAP + LOW
  const svg = draw("svg", { width, height, role: "img", "aria-label": `Allowed mass and running cost over ${n} steps` })
  const top = Math.max(...data.points.map(p => p.total), 1e-9)
  const y = total => floor - LOW * total / top
  svg.append(draw("text", { x: LEFT - 6, y: TOP + 4, class: "label", "text-anchor": "end" }, "Z 1"), draw("text", { x: LEFT - 6, y: TOP + HIGH + 3, class: "label", "text-anchor": "end" }, "0"))
  svg.append(draw("text", { x: LEFT - 6, y: floor - LOW + 4, class: "label", "text-anchor": "end" }, "−ln Z"), draw("text", { x: LEFT - 6, y: floor, class: "label", "text-anchor": "end" }, "0"))
  for (const line of [TOP + HIGH, floor]) svg.append(draw("line", { x1: LEFT, x2: LEFT + w * n, y1: line, y2: line, class: "axis" }))
  data.points.forEach((p, i) => {
    const x = LEFT + i * w
    svg.append(draw("rect", { x: x + 1, y: TOP, width: w - 2, height: HIGH, class: "lost" }))
    svg.append(draw("rect", { x: x + 1, y: TOP + HIGH * (1 - p.z), width: w - 2, height: Math.max(0.5, HIGH * p.z), class: "z" }))
    if (p.masked) svg.append(draw("path", { d: `M${x + w / 2 - 3.5} ${TOP + HIGH + 10} h7 l-3.5 -6 z`, class: "flag" }))
  })
  const path = data.points.map((p, i) => `${i ? "L" : "M"}${LEFT + (i + 0.5) * w} ${y(p.total)}`).join(" ")
  svg.append(draw("path", { d: path, class: "total" }))
  if (n) {
    const last = data.points[n - 1]
    svg.append(draw("text", { x: LEFT + w * n + 3, y: y(last.total) + 4, class: "label" }, last.total.toFixed(1)))
    svg.append(draw("circle", { cx: LEFT + (data.current + 0.5) * w, cy: y(data.points[data.current].total), r: 4, class: "here" }))
    svg.append(draw("rect", { x: LEFT + data.current * w, y: TOP - 3, width: w, height: HIGH + 16, rx: 2, class: "here" }))
  }
  data.points.forEach((p, i) => {
    const hit = draw("rect", { x: LEFT + i * w, y: 0, width: w, height, class: "hit" })
    hit.append(draw("title", {}, `step ${i}: Z ${p.z.toPrecision(3)}, −ln Z so far ${p.total.toFixed(2)} nats${p.masked ? "; first choice masked" : ""}`))
    hit.onclick = () => setTriggerValue("step", i)
    svg.append(hit)
  })
  box.append(svg)
  box.scrollLeft = LEFT + data.current * w - box.clientWidth / 2
}
