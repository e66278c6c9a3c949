export default function (component) {
  const { data, parentElement } = component
  const list = el("dl"), parts = [list]
  for (const figure of data.figures) {
    const box = el("div")
    box.append(el("dt", "", figure.label), el("dd", "", figure.value))
    list.append(box)
  }
  if (data.rows.length) {
    const title = el("p", "title", `Where the masked mass was: ${data.lost} of the model's probability, ${data.nats} nats. `)
    if (data.known) title.append(el("small", "", `(${data.known})`))
    const table = el("table"), body = el("tbody")
    for (const row of data.rows) {
      const line = el("tr"), cell = el("td"), bar = el("div", "bar"), fill = el("i"), place = el("th", "", row.place)
      place.scope = "row"
      fill.style.width = `${100 * Math.min(1, row.share)}%`
      bar.append(fill)
      cell.append(bar)
      if (row.wanted) place.append(el("small", "", `the model wanted ${row.wanted}`))
      line.append(place, cell, el("td", "figure", `${row.mass}, ${row.nats} nats`))
      body.append(line)
    }
    table.append(body)
    parts.push(title, table)
  }
  parentElement.querySelector(".root").replaceChildren(...parts)
}
