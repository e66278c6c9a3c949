export default function (component) {
  const { data, parentElement } = component
  const list = el("ol")
  list.setAttribute("aria-label", "What the model would have written")
  for (const chip of data.chips) {
    const item = el("li", `${chip.out ? "out" : ""}${chip.leaves ? " leaves" : ""}`)
    item.append(el("span", "chip", chip.text), el("small", "", chip.leaves ? `✕ ${chip.share}` : chip.share))
    list.append(item)
  }
  parentElement.querySelector(".root").replaceChildren(el("p", "", "Without the mask the model would have written:"), list, el("p", "", data.said))
}
