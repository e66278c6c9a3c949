const says = token => token.log === null ? "not read yet" : `ln p = ${token.log.toFixed(2)}`

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root"), parts = [el("p", "summary", data.summary)]
  const cuts = el("div", "cuts")
  cuts.setAttribute("role", "group")
  cuts.setAttribute("aria-label", "Tokens written, and the tokenizer's own where they differ")
  let current = null
  for (const span of data.spans) {
    const box = el("div", `span${span.differs ? " differs" : ""}`), written = el("div", "cut")
    for (const token of span.written) {
      const chip = el("button", `chip${token.bridges ? " bridges" : ""}${token.step === data.current ? " current" : ""}`, token.text)
      chip.title = `step ${token.step}: ${says(token)}${token.bridges ? "; crosses a boundary of the grammar" : ""}`
      chip.setAttribute("aria-label", `${token.text}, ${chip.title}`)
      chip.onclick = () => setTriggerValue("step", token.step)
      if (token.step === data.current) current = chip
      written.append(chip)
    }
    box.append(written)
    if (span.differs) {
      const own = el("div", "cut own")
      for (const token of span.canonical) {
        const chip = el("span", "chip", token.text)
        chip.title = `the tokenizer's own: ${says(token)}`
        own.append(chip)
      }
      box.append(own)
    }
    cuts.append(box)
  }
  if (data.more) cuts.append(el("span", "muted", `… ${data.more} more stretches`))
  parts.push(cuts)
  const legend = el("div", "legend")
  const entry = (cls, label, wrap) => {
    const item = el("span"), chip = el("i", `chip ${cls}`, "a")
    if (wrap) {
      const own = el("span", "own")
      own.append(chip)
      item.append(own)
    } else item.append(chip)
    item.append(el("span", "", label))
    legend.append(item)
  }
  if (data.differences.length) entry("", "the tokenizer's own cut", true)
  if (data.bridges) entry("bridges", "bridging: crosses a boundary of the grammar", false)
  parts.push(legend)
  if (data.differences.length) {
    const box = el("div", "table"), table = el("table"), head = el("thead"), top = el("tr"), body = el("tbody")
    for (const name of ["Where", "Written", "ln p, written", "Tokenizer's own", "ln p, its own"]) {
      const cell = el("th", "", name)
      cell.scope = "col"
      top.append(cell)
    }
    head.append(top)
    for (const row of data.differences) {
      const line = el("tr")
      line.append(el("td", "", row.place), el("td", "mono", row.written), el("td", "", row.written_log), el("td", "mono", row.canonical), el("td", "", row.canonical_log))
      body.append(line)
    }
    table.append(head, body)
    box.append(table)
    parts.push(box)
  }
  root.replaceChildren(...parts)
  if (current) hold(cuts, current)
}
