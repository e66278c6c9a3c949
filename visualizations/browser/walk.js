const VERDICTS = { allowed: "✓ Allowed", masked: "✕ Masked", narrowed: "◐ Taken away" }

function hops(data) {
  const box = el("div", "hops"), table = el("table"), head = el("thead"), top = el("tr"), body = el("tbody")
  for (const [cls, label] of [["byte", "Byte"], ["state", "What remains before it"], ["who", "Who speaks"]]) {
    const cell = el("th", cls, label)
    cell.scope = "col"
    top.append(cell)
  }
  head.append(top)
  for (const hop of data.hops) {
    const row = el("tr", hop.dies ? "dies" : ""), byte = el("td", "byte"), state = el("td", "state", hop.before)
    byte.append(el("b", "", hop.text), el("span", "", hop.byte))
    if (hop.dies) state.append(el("small", "", `✕ dies here: ${hop.expected} expected`))
    row.append(byte, state, el("td", "who", hop.who[0] ?? ""))
    body.append(row)
  }
  const last = data.hops.at(-1)
  if (last && !last.dies) {
    const row = el("tr", "last"), after = el("td", "state", last.after)
    row.append(el("td", "byte", "after"), after, el("td", "who", ""))
    body.append(row)
  }
  table.append(head, body)
  box.append(table)
  box.tabIndex = 0
  box.setAttribute("role", "region")
  box.setAttribute("aria-label", "The token's bytes walked through the automaton")
  return box
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root"), parts = []
  const verdict = el("div", `verdict ${data.verdict}`)
  verdict.append(el("code", "token", data.text), el("b", "", VERDICTS[data.verdict] + (data.taken ? ", and taken ◀" : "")), el("span", "muted", data.share))
  if (data.takes) {
    const take = el("button", "take", "Take it here")
    take.title = "A branch of this run that takes this token at this step"
    take.onclick = () => setTriggerValue("take", { step: data.step, token: data.id })
    verdict.append(take)
  }
  const said = el("p", "said", data.sentence)
  data.owners.forEach((owner, i) => said.append(i ? ", " : " Whose rule: ", el("code", "place", owner)))
  parts.push(verdict, said)
  if (data.hops.length) parts.push(hops(data))
  if (data.nearest.length) {
    const near = el("div", "near")
    near.append(el("span", "", data.verdict === "allowed" ? "Allowed as well:" : "Nearest allowed:"))
    for (const other of data.nearest) {
      const button = el("button", "", other.text)
      if (other.share) button.append(el("small", "", other.share))
      button.title = `Look at this token (id ${other.id})`
      button.onclick = () => setTriggerValue("select", { step: data.step, token: other.id })
      near.append(button)
    }
    parts.push(near)
  }
  root.replaceChildren(...parts)
}
