export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const list = el("ul")
  for (const row of data.rows) {
    const item = el("li", row.allowed ? "" : "masked"), button = el("button", row.allowed ? "" : "struck", row.text)
    button.disabled = !(row.allowed && data.takes)
    button.title = `id ${row.id}`
    button.onclick = () => setTriggerValue("take", { step: data.step, token: row.id })
    item.append(button, el("span", "", row.allowed ? (data.takes ? "allowed: click to take it" : "allowed") : row.why || "masked"))
    list.append(item)
  }
  if (!data.rows.length) list.append(el("li", "muted", "No token contains this."))
  parentElement.querySelector(".root").replaceChildren(list)
}
