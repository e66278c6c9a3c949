export default function (component) {
  const { data, parentElement } = component
  const root = parentElement.querySelector(".root"), box = el("div", "box")
  let row = el("span", "line"), first = null
  for (const part of data.segments) {
    part.text.split("\n").forEach((text, i) => {
      if (i) { box.append(row); row = el("span", "line") }
      if (!text) return
      if (!part.mark) return row.append(text)
      const mark = el("mark", part.mark, text)
      first ??= mark
      row.append(mark)
    })
  }
  box.append(row)
  if (data.cut) box.append(el("span", "line muted", "… the rest is not shown"))
  box.tabIndex = 0
  box.setAttribute("role", "region")
  box.setAttribute("aria-label", "Constraint text, speaking part marked")
  const legend = el("div", "legend"), marks = new Set(data.segments.map(p => p.mark))
  for (const [mark, label] of [["speaks", "may speak next"], ["masks", "masked the model's first choice"], ["both", "may speak next, and masked the first choice"]]) {
    if (!marks.has(mark)) continue
    const item = el("span")
    item.append(el("mark", mark, "a"), " " + label)
    legend.append(item)
  }
  root.replaceChildren(box, legend)
  if (first) hold(box, first)
}
