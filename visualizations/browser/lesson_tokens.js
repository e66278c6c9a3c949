export default function (component) {
  const { data, parentElement } = component, root = parentElement.querySelector(".root")
  const box = el("div", "chips")
  for (const chip of data.chips) box.append(el("code", chip.marked ? "marked" : "", chip.text))
  if (data.more) box.append(el("span", "muted", `and ${data.more.toLocaleString("en")} more`))
  if (!data.chips.length && !data.more) box.append(el("span", "none", "✕ none at all"))
  root.replaceChildren(el("div", "head", data.heading), box)
}
