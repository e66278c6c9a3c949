const TITLES = { allowed: "allowed by the mask", masked: "masked", unread: "behind a masked token: not reached" }
const LEGEND = [["allowed", "allowed"], ["forced", "the only one allowed"], ["masked", "masked"], ["unread", "not reached"]]
const number = n => n.toLocaleString("en")
const short = n => n < 1000 ? String(n) : n < 10000 ? `${(n / 1000).toFixed(1)}k` : `${Math.round(n / 1000)}k`
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root"), strip = el("div", "strip"), focused = root.getRootNode().activeElement?.matches?.(".chip")
  strip.setAttribute("role", "group")
  strip.setAttribute("aria-label", "Tokens of the text, one button each; below it the number of tokens the mask allowed there")
  const kinds = new Set()
  let current = null
  if (data.first) strip.append(el("span", "cut", `… ${number(data.first)} before`))
  data.chips.forEach((token, i) => {
    const kind = token.fate === "allowed" && token.count === 1 ? "forced" : token.fate
    kinds.add(kind)
    const chip = el("button", `chip ${kind}${token.end ? " end" : ""}`), count = token.count === null ? "" : short(token.count)
    chip.append(el("span", "text", token.text), el("span", "count", count || " "))
    const told = token.count === null ? "" : `, ${number(token.count)} tokens allowed here`
    chip.title = `byte ${token.offset}, id ${token.id}: ${TITLES[token.fate]}${told}`
    chip.setAttribute("aria-label", `${token.text}, ${chip.title}`)
    chip.tabIndex = i === data.current ? 0 : -1
    if (i === data.current) {
      chip.classList.add("current")
      chip.setAttribute("aria-current", "step")
      current = chip
    }
    chip.onclick = () => setTriggerValue("token", token.offset)
    strip.append(chip)
    if (token.breaks) strip.append(el("div", "break"))
  })
  const behind = data.total - data.first - data.chips.length
  if (behind > 0) strip.append(el("span", "cut", `${number(behind)} more …`))
  strip.onkeydown = event => {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    const chips = [...strip.querySelectorAll(".chip")], to = chips[chips.indexOf(root.getRootNode().activeElement) + way]
    if (!way || !to) return
    event.preventDefault()
    event.stopPropagation()
    to.focus()
    clearTimeout(root.timer)
    root.timer = setTimeout(() => to.click(), 150)
  }
  const legend = el("div", "legend")
  for (const [kind, label] of LEGEND) if (kinds.has(kind)) {
    const item = el("span")
    item.append(el("i", `chip ${kind}`, "a"), el("span", "", label))
    legend.append(item)
  }
  legend.append(el("span", "", "below each: tokens the mask allowed"))
  root.replaceChildren(strip, legend)
  if (current) {
    hold(strip, current)
    if (focused) current.focus({ preventScroll: true })
  }
}
