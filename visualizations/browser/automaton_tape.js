// The text so far as the tape of an automaton: a cell per character, under it the state after it, the head at the end.
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const box = el("div", "box"), line = el("div", "line")
  box.tabIndex = 0
  box.setAttribute("role", "region")
  box.setAttribute("aria-label", `Tape: the text so far, ${data.cells.length} characters with the state after each`)
  const cell = (text, state, title, depth, head) => {
    const button = el("button", `cell${"s" + state === data.selected ? " sel" : ""}${head ? " head" : ""}`)
    button.tabIndex = -1
    button.title = title
    button.setAttribute("aria-label", title)
    button.onclick = () => setTriggerValue("select", head ? "" : `s${state}`)
    const deep = el("span", "deep")
    if (data.deep) deep.style.height = `${Math.min(18, 2 * depth)}px`
    button.append(...(data.deep ? [deep] : []), el("span", "char", text), el("span", "state", state))
    line.append(button)
    return button
  }
  const last = data.cells.length - 1
  if (data.hidden) line.append(el("span", "muted", `… ${data.hidden} before`))
  else cell("", data.start.state, `state ${data.start.state} before the first character`, 0, last < 0)
  let head = line.lastChild
  data.cells.forEach((c, i) => {
    head = cell(c.text, c.state, `${c.text}, then state ${c.state}${data.deep ? `, ${c.depth} rules deep` : ""}${i === last ? ", you are here" : ""}`, c.depth, i === last)
  })
  box.append(line)
  root.replaceChildren(el("div", "label", data.deep ? "Tape, the bars say how many rules deep" : "Tape"), box)
  box.scrollLeft = head.offsetLeft - box.clientWidth + 60
}
