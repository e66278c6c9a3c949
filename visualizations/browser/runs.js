export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const box = el("div", "box")
  const table = el("table")
  const head = el("tr")
  for (const [text, cls] of [["Run", ""], ["Output", ""], ["Tokens", "n"], ["Passes", "n"], ["−ln Z", "n"], ["End", ""], ["", ""]]) head.append(el("th", cls, text))
  table.append(head)
  for (const row of data.rows) {
    const line = el("tr", row.number === data.shown ? "current" : row.number === data.compared ? "compared" : "")
    const name = el("td")
    const pick = el("button", "name", `${row.depth ? "└ " : ""}${row.number} · ${row.title}`)
    pick.style.marginLeft = `${Math.max(0, row.depth - 1) * 14}px`
    if (row.number === data.shown) pick.setAttribute("aria-current", "true")
    pick.onclick = () => setTriggerValue("show", row.number)
    name.append(pick)
    const beside = el("td")
    if (row.number !== data.shown) {
      const button = el("button", "beside", row.number === data.compared ? "put away" : "beside")
      button.setAttribute("aria-label", `${button.textContent} run ${row.number}`)
      button.onclick = () => setTriggerValue("compare", row.number)
      beside.append(button)
    }
    line.append(name, el("td", "mono text", row.text), el("td", "n", row.steps), el("td", "n", row.passes), el("td", "n", row.cost.toFixed(2)), el("td", "", row.finish), beside)
    table.append(line)
  }
  box.append(table)
  root.replaceChildren(box)
}
