const LEGEND = [["sampled", "sampled"], ["forced", "forced: the only one"], ["jumped", "jumped: no pass of its own"], ["healed", "spells the prompt's end again"], ["chosen", "taken by hand"], ["sampled masked", "model's first choice masked"], ["end", "end token"]]
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const strip = el("div", "strip")
  strip.setAttribute("role", "group")
  strip.setAttribute("aria-label", "Output, one button per token")
  let current = null
  data.tokens.forEach((token, i) => {
    const chip = el("button", `chip ${token.kind}${token.masked ? " masked" : ""}${i > data.current ? " after" : ""}`, token.text)
    chip.title = token.title
    chip.setAttribute("aria-label", `${token.text}, ${token.title}`)
    if (i === data.current) {
      chip.classList.add("current")
      chip.setAttribute("aria-current", "step")
      current = chip
    }
    chip.onclick = () => setTriggerValue("step", i)
    strip.append(chip)
    if (token.breaks) strip.append(el("div", "break"))
  })
  const legend = el("div", "legend")
  const present = new Set(data.tokens.map(t => t.kind + (t.masked ? " masked" : "")))
  if ([...present].some(k => k.endsWith(" masked"))) present.add("sampled masked")
  for (const [kind, label] of LEGEND) {
    if (![...present].some(k => k === kind || k === kind + " masked")) continue
    const item = el("span")
    item.append(el("i", `chip ${kind}`, "a"), el("span", "", label))
    legend.append(item)
  }
  root.replaceChildren(strip, legend)
  if (current) hold(strip, current)
}
