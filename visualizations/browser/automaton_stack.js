// The stack of rules as breadcrumbs. Rules in which nothing is read but the next one are folded until asked for.
const open = new WeakSet()

function draw(component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root"), line = el("ol", "crumbs")
  line.setAttribute("aria-label", "Stack of rules, outermost first")
  const add = (node, cls = "") => { const item = el("li", cls); item.append(node); line.append(item) }
  const last = data.frames.length - 1, shown = data.frames.findLastIndex(f => f.rule === data.shown)
  const crumb = (frame, i) => {
    const button = el("button", `crumb${i === shown ? " shown" : ""}${frame.passing ? " passing" : ""}`, frame.name)
    button.title = `${frame.title}: at state ${frame.state}${i === last ? ", you are here" : ", goes on there later"}`
    if (i === last) button.append(el("span", "pin", "●"))
    if (i === shown) button.setAttribute("aria-current", "true")
    button.onclick = () => setTriggerValue("select", i === last ? "" : `r${frame.rule}`)
    return button
  }
  for (let i = 0; i <= last; i++) {
    let end = i
    while ((!data.hidden || end !== data.first) && data.frames[end].passing || (i > 1 && end > i && end < last - 4)) end++
    if (end > i + 1 && !open.has(parentElement)) {
      const more = el("button", "crumb fold", `… ${end - i}`)
      more.title = `${end - i} rules: ` + data.frames.slice(i, end).map(f => f.name).join(" › ")
      more.onclick = () => { open.add(parentElement); draw(component) }
      add(more)
      i = end
    }
    add(crumb(data.frames[i], i))
    if (data.hidden && i === data.first - 1) add(el("span", "muted", `… ${data.hidden.toLocaleString("en")} more`))
  }
  const label = el("label", "rules", "Rule "), choice = el("select")
  for (const rule of data.rules) {
    const option = el("option", "", rule.name)
    option.value = rule.number
    option.selected = rule.number === data.shown
    choice.append(option)
  }
  choice.onchange = () => setTriggerValue("select", `r${choice.value}`)
  label.append(choice)
  root.replaceChildren(line, label)
}

export default function (component) { draw(component) }
