const number = n => n.toLocaleString("en")
const line = (cls, label, ...parts) => {
  const row = el("div", `fact f-${cls}`)
  row.append(el("span", "label", label), ...parts)
  return row
}
const code = text => el("code", "", text)
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root"), card = el("div", `card${data.illegal ? " illegal" : ""}`)
  const steps = el("div", "steps")
  for (const [label, title, go, off] of [
    ["|◂", "To the first byte", "first", data.offset === 0],
    ["◂ token", "Back by a token", "token-", data.offset === 0],
    ["◂ byte", "Back by a byte", "byte-", data.offset === 0],
    ["byte ▸", "On by a byte", "byte+", data.illegal || data.offset >= data.size],
    ["token ▸", "On by a token", "token+", data.illegal || data.offset >= data.size],
    ["▸|", "To where it stops", "last", data.illegal],
  ]) {
    const button = el("button", "step", label)
    button.title = title
    button.setAttribute("aria-label", title)
    button.disabled = off || (go.startsWith("token") && !data.tokens)
    button.dataset.go = go
    button.onclick = () => setTriggerValue("go", go)
    steps.append(button)
  }
  const where = el("div", "where"), strong = el("strong", "", data.illegal ? `First illegal byte: ${number(data.offset)}` : `Before byte ${number(data.offset)}`)
  where.append(strong, ` of ${number(data.size)}, line ${number(data.line)}, column ${number(data.column)}`)
  const tape = el("div", "tape")
  tape.append(el("span", "read", (data.cutBefore ? "…" : "") + data.before))
  const here = el("mark", data.illegal ? "bad" : "here", data.byte || "⟨end of the text⟩")
  here.title = data.illegal ? "This cannot be read" : "The place looked at"
  tape.append(here, el("span", "unread", data.after + (data.cutAfter ? "…" : "")))
  card.append(steps, where, tape)
  const expected = el("span", "chips")
  for (const words of data.expected) expected.append(code(words))
  if (!data.expected.length) expected.append("nothing")
  card.append(line("expected", data.illegal ? "Expected here" : "May stand here", expected))
  if (data.limit) card.append(line("limit", "Because", el("span", "", data.limit)))
  if (data.rules.length) {
    const rules = el("span", "rules")
    data.rules.forEach((rule, i) => {
      const button = el("button", "rule")
      button.append(el("span", "name", rule.name), el("span", "says", rule.text))
      button.title = "Select it in the source"
      button.onclick = () => setTriggerValue("select", i)
      rules.append(button)
    })
    if (data.moreRules) rules.append(el("span", "muted", `and ${data.moreRules} more`))
    card.append(line("rule", data.rules.length > 1 ? "Whose rules" : "Whose rule", rules))
  }
  if (data.repair) {
    const { removed, inserted, read } = data.repair, words = el("span")
    if (removed) words.append(inserted ? "put " : "take away ", code(inserted || removed))
    if (removed && inserted) words.append(" in place of ", code(removed))
    if (!removed) words.append("insert ", code(inserted))
    words.append(read ? `, then at least ${read} more byte${read > 1 ? "s fit" : " fits"} ` : " ")
    const apply = el("button", "apply", "Apply and go on")
    apply.onclick = () => setTriggerValue("apply", data.offset)
    words.append(apply)
    card.append(line("repair", "Shortest repair", words))
  }
  if (data.completion) card.append(line("completion", "Shortest end", code(data.completion + (data.completionCut ? "…" : ""))))
  if (data.token) {
    const token = data.token, words = el("span"), chips = el("span", "chips")
    words.append(code(token.name), ` (id ${token.id}): ${token.reason}`)
    words.append(`. The mask allows ${number(token.count)} of ${number(token.size)} tokens`)
    card.append(line("token", "Token here", words))
    for (const near of token.allowed) {
      const chip = code(near.name)
      chip.title = `id ${near.id}`
      chips.append(chip)
    }
    if (token.allowed.length) card.append(line("near", "Nearest allowed", chips))
  }
  const kept = root.getRootNode().activeElement?.dataset?.go
  root.replaceChildren(card)
  if (kept) {
    const again = [...root.querySelectorAll("button.step")].find(b => b.dataset.go === kept)
    if (again && !again.disabled) again.focus({ preventScroll: true })
  }
}
