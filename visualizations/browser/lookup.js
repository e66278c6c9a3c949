export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const pick = row => {
    const button = el("button", row.allowed ? "" : "struck", row.text)
    button.title = `id ${row.id}, ${row.allowed ? "allowed" : "masked"}: look at it`
    button.setAttribute("aria-label", `${row.text}, ${row.allowed ? "allowed" : "masked"}`)
    button.setAttribute("aria-pressed", String(row.id === data.selected))
    button.onclick = () => setTriggerValue("select", { step: data.step, token: row.id })
    return button
  }
  const parts = []
  if (data.rows) {
    const list = el("ul")
    for (const row of data.rows) {
      const item = el("li", row.allowed ? "" : "masked")
      item.append(pick(row), el("span", "", row.allowed ? "allowed" : row.why || "masked"))
      list.append(item)
    }
    if (!data.rows.length) list.append(el("li", "muted", "No token contains this."))
    if (data.total > data.rows.length) list.append(el("li", "muted", `${(data.total - data.rows.length).toLocaleString("en")} more contain it: type more of it.`))
    parts.push(list)
  }
  if (data.often.length) {
    const often = el("div", "often")
    often.append(el("span", "", "Why not:"), ...data.often.map(pick))
    parts.push(often)
  }
  parentElement.querySelector(".root").replaceChildren(...parts)
}
