// A field judged while one types: each byte of its text with what a validator and what the automaton say of it.
const PAUSE = 150 // ms without a key before Python is told
const SIGNS = { accepted: "✓", open: "✓", dead: "✕", unread: "" }
const fields = new WeakMap()

function built(root, data) {
  const label = el("label", "head", data.heading), input = el("input"), box = el("div", "below")
  input.id = "typed"
  label.htmlFor = "typed"
  for (const [name, value] of Object.entries({ spellcheck: "false", autocapitalize: "off", autocomplete: "off", maxlength: data.limit })) input.setAttribute(name, value)
  input.value = data.text
  const field = { input, box, sent: data.text, timer: 0, send: () => {} }
  const tell = () => { clearTimeout(field.timer); if (input.value !== field.sent) field.send(field.sent = input.value) }
  input.oninput = () => { clearTimeout(field.timer); field.timer = setTimeout(tell, PAUSE) }
  input.onblur = tell
  input.onkeydown = event => { event.stopPropagation(); if (event.key === "Enter") tell() }
  field.load = text => { input.value = text; tell(); input.focus() }
  root.replaceChildren(label, input, box)
  fields.set(root, field)
  return field
}

function row(cells, name, cls, sign) {
  const line = el("tr", cls), head = el("th", "", name)
  head.scope = "row"
  line.append(head)
  for (const cell of cells) {
    const [text, kind] = sign(cell), box = el("td", kind, text)
    box.title = cell.title
    line.append(box)
  }
  return line
}

export default function (component) {
  const { data, parentElement, setStateValue } = component
  const root = parentElement.querySelector(".root"), field = fields.get(root) ?? built(root, data)
  field.send = text => setStateValue("text", text)
  const examples = el("div", "examples"), table = el("table"), scroll = el("div", "scroll"), said = el("p", "said", data.said)
  examples.append(el("span", "muted", "Try:"))
  for (const example of data.examples) {
    const button = el("button", "", example.label)
    button.onclick = () => field.load(example.text)
    examples.append(button)
  }
  table.append(
    row(data.cells, "Byte", "bytes", cell => [cell.text, cell.standing]),
    row(data.cells, "Valid already?", "valid", cell => cell.standing === "unread" ? ["", "unread"] : cell.valid ? ["✓", "yes"] : ["✕", "no"]),
    row(data.cells, "Can still become valid?", "alive", cell => [SIGNS[cell.standing], cell.standing]),
  )
  scroll.tabIndex = 0
  scroll.append(table)
  said.setAttribute("role", "status")
  field.box.replaceChildren(examples, scroll, said)
  if (data.cells.length > 30) scroll.scrollLeft = scroll.scrollWidth
}
