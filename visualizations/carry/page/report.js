"use strict"
// Replays the run in this file. Its text goes into text nodes only.
const run = JSON.parse(document.getElementById("run").textContent)
const main = document.querySelector("main")
const el = (tag, cls, text) => {
  const node = document.createElement(tag)
  if (cls) node.className = cls
  if (text !== undefined) node.textContent = text
  return node
}
const percent = p => p <= 0 ? "0 %" : p < 1e-4 ? "<0.01 %" : `${p < 0.0995 ? (100 * p).toPrecision(2) : Math.round(100 * p)} %`
const last = run.steps.length - 1
let at = 0

main.append(el("h1", "", `Run ${run.run} of ${run.model}`))
main.append(el("p", "muted", `A recorded run of Maskscope: ${run.steps.length} tokens in ${run.passes} passes, ${run.finish}. Arrow keys go from step to step.`))
if (run.missing) main.append(el("p", "", `Still missing: ${run.missing}`))
main.append(el("h2", "", "Output"), el("pre", "", run.output))

const bar = el("div", "bar")
const button = (label, act) => {
  const node = el("button", "", label)
  node.onclick = act
  bar.append(node)
  return node
}
const first = button("First", () => go(0)), back = button("Back", () => go(at - 1)), next = button("Step", () => go(at + 1)), end = button("Last", () => go(last))
const slider = el("input")
slider.type = "range"
slider.min = 0
slider.max = Math.max(0, last)
slider.setAttribute("aria-label", "Step")
slider.oninput = () => go(Number(slider.value))
const place = el("span", "muted")
bar.append(slider, place)
main.append(bar)

const strip = el("div", "strip")
strip.setAttribute("role", "group")
strip.setAttribute("aria-label", "Output, one button per token")
const chips = run.steps.map((step, i) => {
  const chip = el("button", "", step.token)
  chip.title = `step ${i}: ${step.kind}, model gave it ${percent(step.raw)}${step.wanted ? `; its first choice ${step.wanted} was masked` : ""}`
  chip.onclick = () => go(i)
  strip.append(chip)
  return chip
})
const bars = el("div", "z")
bars.setAttribute("role", "img")
bars.setAttribute("aria-label", "Allowed mass Z at each step")
const masses = run.steps.map((step, i) => {
  const bar = el("i")
  bar.style.height = `${Math.max(2, 100 * step.z)}%`
  bar.title = `step ${i}: Z ${percent(step.z)}`
  bars.append(bar)
  return bar
})
const detail = el("section")
detail.setAttribute("aria-live", "polite")
main.append(strip, el("h2", "", "Allowed mass Z, step by step"), bars, detail)

const about = el("dl")
const fact = (name, value) => about.append(el("dt", "", name), el("dd", "mono", String(value)))
if (run.healed) fact("decoded again", run.healed)
for (const [name, value] of Object.entries(run.settings)) if (value !== "" && value !== false) fact(name, value)
main.append(el("h2", "", "Prompt"), el("pre", "", run.prompt))
if (run.constraint) {
  main.append(el("h2", "", `Constraint (${run.constraint.kind})`), el("pre", "", run.constraint.text))
  for (const [name, value] of run.constraint.options) fact(name, value)
}
main.append(el("h2", "", "Settings"), about)

function go(index) {
  if (last < 0) return
  at = Math.max(0, Math.min(last, index))
  const step = run.steps[at]
  chips.forEach((chip, i) => {
    chip.className = `chip ${run.steps[i].kind}${run.steps[i].wanted ? " masked" : ""}${i > at ? " after" : ""}`
    if (i === at) chip.setAttribute("aria-current", "step"); else chip.removeAttribute("aria-current")
    masses[i].className = i === at ? "here" : ""
  })
  slider.value = at
  place.textContent = `step ${at} of ${last}`
  first.disabled = back.disabled = at === 0
  next.disabled = end.disabled = at === last
  const figures = el("div", "figures")
  for (const [name, value, note] of [["Allowed tokens", step.allowed.toLocaleString("en"), `of ${run.vocabulary.toLocaleString("en")}`], ["Allowed mass Z", percent(step.z), ""], ["Running −ln Z", step.total.toFixed(2), "nats"], ["Token taken", percent(step.renormalised), `model gave ${percent(step.raw)}, rank ${step.rank + 1}`]]) {
    const figure = el("div", "", name)
    figure.append(el("b", "", value), el("span", "muted", note))
    figures.append(figure)
  }
  detail.replaceChildren(el("h2", "", `Step ${at}: ${step.token} (${step.kind})`))
  if (step.wanted) detail.append(el("p", "", `The model's first choice, ${step.wanted}, is masked${step.by.length ? ` by ${step.by.join(", ")}` : ""}.`))
  if (step.before) detail.append(el("p", "mono", `What remains: ${step.before}`))
  if (step.speaking.length) detail.append(el("p", "muted", `Speaking: ${step.speaking.join(", ")}`))
  const table = el("table"), head = el("tr")
  for (const [name, cls] of [["Token", ""], ["Rank", "n"], ["Model", "n"], ["After the mask", "n"], ["", ""]]) head.append(el("th", cls, name))
  table.append(head)
  for (const [token, rank, raw, renormalised, allowed] of step.candidates) {
    const row = el("tr", `${allowed ? "" : "no"}${rank === step.rank ? " taken" : ""}`)
    row.append(el("td", "mono", token), el("td", "n", rank + 1), el("td", "n", percent(raw)), el("td", "n", percent(renormalised)), el("td", "", rank === step.rank ? "taken" : allowed ? "" : "masked"))
    table.append(row)
  }
  const box = el("div", "box")
  box.append(table)
  detail.append(figures, box)
}
addEventListener("keydown", event => {
  if (event.target === slider) return
  const move = { ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1), Home: () => go(0), End: () => go(last) }[event.key]
  if (move) {
    event.preventDefault()
    move()
  }
})
go(0)
