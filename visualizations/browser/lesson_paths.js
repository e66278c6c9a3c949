export default function (component) {
  const { data, parentElement, setTriggerValue } = component, root = parentElement.querySelector(".root")
  const box = el("div", "paths"), side = el("div", "names")
  side.append(el("span", "", data.names[0]), el("span", "", data.names[1]))
  box.append(side)
  let current = null
  const chip = (piece, name) => {
    const clickable = piece.step !== null, node = el(clickable ? "button" : "span", `chip${piece.crosses ? " crosses" : ""}${piece.dear ? " dear" : ""}`)
    node.append(el("code", "", piece.text), el("small", "", piece.log))
    node.title = [name, clickable ? `step ${piece.step}` : "", piece.log ? `ln p = ${piece.log}` : "", piece.crosses ? data.crosses : ""].filter(Boolean).join("; ")
    if (clickable) {
      node.setAttribute("aria-label", `${piece.text}, ${node.title}`)
      node.onclick = () => setTriggerValue("step", piece.step)
      if (piece.step === data.current) {
        node.classList.add("current")
        node.setAttribute("aria-current", "step")
        current = node
      }
    }
    return node
  }
  for (const one of data.stretches) {
    const stretch = el("div", `stretch${one.differs ? " differs" : ""}`)
    for (const [row, name] of [[one.upper, data.names[0]], [one.lower, data.names[1]]]) {
      const cut = el("div", "cut")
      for (const piece of row) cut.append(chip(piece, name))
      stretch.append(cut)
    }
    box.append(stretch)
  }
  if (data.more) box.append(el("span", "muted", `and ${data.more} more stretches`))
  const legend = el("p", "muted legend", "Framed: the cuts differ. Small figures: ln p of the token in its cut.")
  if (data.stretches.some(one => [...one.upper, ...one.lower].some(piece => piece.crosses))) legend.append(` Double line: ${data.crosses}.`)
  root.replaceChildren(box, legend)
  if (current) hold(box, current)
}
