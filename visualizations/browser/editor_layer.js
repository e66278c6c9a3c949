// The text behind the field, coloured and marked. One node per line, those that stay the same stay in place, and only the
// lines in sight are coloured: a keystroke in 200 KB costs about as much as it does in a bare <textarea>.
const ICONS = { error: "✕", warning: "!", info: "i" }
const WHOLE = new Set(["read", "error", "warning", "info"]) // kinds that mark every line of what they mark

class Layer {
  constructor(box) { // `box` scrolls
    this.box = box
    this.gutter = el("div", "gutter")
    this.layer = el("div", "layer")
    this.rail = el("div", "rail")
    for (const part of [this.gutter, this.layer, this.rail]) part.setAttribute("aria-hidden", "true")
    Object.assign(this, { text: "", lines: [], nodes: [], starts: [0], marks: [], shown: { text: "", marks: [] }, round: 0, current: null })
  }

  show(text) {
    const next = text.split("\n"), { lines, nodes, layer } = this
    const most = Math.min(lines.length, next.length)
    let start = 0, tail = 0
    while (start < most && lines[start] === next[start]) start++
    while (tail < most - start && lines[lines.length - 1 - tail] === next[next.length - 1 - tail]) tail++
    for (const node of nodes.slice(start, nodes.length - tail)) node.remove()
    const fresh = next.slice(start, next.length - tail).map(line => el("div", "line", line)), fragment = document.createDocumentFragment()
    fragment.append(...fresh)
    layer.insertBefore(fragment, nodes[nodes.length - tail] ?? null)
    this.nodes = [...nodes.slice(0, start), ...fresh, ...nodes.slice(nodes.length - tail)]
    this.lines = next
    this.text = text
    let offset = 0
    this.starts = next.map(line => { const here = offset; offset += line.length + 1; return here })
    this.gutter.style.width = `calc(${Math.max(2, String(next.length).length)}ch + 32px)`
    this.shift()
    this.paint()
  }

  mark(text, marks, language) { // marks count the code points of `text`, which Python had
    const units = points(text), at = i => units ? units[Math.min(i, units.length - 1)] : i
    this.shown = { text, marks: marks.map(m => ({ ...m, start: at(m.start), end: at(m.end) })) }
    this.syntax = new RegExp(SYNTAX[language], "gu")
    this.round++ // every line in sight is painted anew
    this.shift()
    this.paint()
  }

  shift() { // the marks, moved along with what was typed since
    const { shown, text } = this
    if (shown.text === text) this.marks = shown.marks
    else {
      const [start, end, more] = difference(shown.text, text)
      const to = x => x <= start ? x : x >= end ? x + more : Math.min(x, Math.max(start, end + more))
      this.marks = shown.marks.map(m => ({ ...m, start: to(m.start), end: to(m.end) }))
    }
  }

  line(offset) { // the index of the line an offset is on
    let low = 0, high = this.starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.starts[middle] <= offset) low = middle
      else high = middle - 1
    }
    return low
  }

  paint() {
    const { nodes, box } = this
    if (!this.round || !box.clientHeight) return
    let low = 0, high = nodes.length - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (nodes[middle].offsetTop + nodes[middle].offsetHeight < box.scrollTop) low = middle + 1
      else high = middle
    }
    const floor = box.scrollTop + box.clientHeight, seen = []
    for (let i = low; i < nodes.length && nodes[i].offsetTop <= floor; i++) seen.push([i, nodes[i].offsetTop])
    for (const [i] of seen) if (nodes[i].round !== this.round) this.colour(i)
    this.margins(seen)
  }

  colour(i) {
    const text = this.lines[i], from = this.starts[i], to = from + text.length, node = this.nodes[i]
    node.round = this.round
    const marks = this.marks.filter(m => m.start <= to && m.end >= from && (m.end > from || m.start === m.end || from === to))
    const runs = text.length <= LONGEST ? [...text.matchAll(this.syntax)] : []
    const cuts = new Set([0, text.length])
    const hidden = new Set([...text.matchAll(HIDDEN)].map(found => found.index))
    for (const index of hidden) cuts.add(index).add(index + 1)
    for (const run of runs) cuts.add(run.index).add(run.index + run[0].length)
    for (const mark of marks) for (const edge of [mark.start, mark.end]) if (edge > from && edge < to) cuts.add(edge - from)
    const edges = [...cuts].sort((a, b) => a - b), parts = []
    const indent = text.match(/^\s*/)[0].length
    let at = 0
    edges.forEach((start, n) => {
      const end = edges[n + 1]
      for (const mark of marks) if (mark.start === mark.end && mark.start === from + start) parts.push(this.marked(el("i", "gap"), [mark], i))
      if (end === undefined) return
      while (at < runs.length && runs[at].index + runs[at][0].length <= start) at++
      const run = runs[at], kind = run && run.index <= start ? Object.keys(run.groups).find(k => run.groups[k] !== undefined) : ""
      const over = start < indent && end <= indent ? [] : marks.filter(m => m.start <= from + start && m.end >= from + end && m.end > m.start)
      const piece = text.slice(start, end)
      if (!kind && !over.length && !hidden.has(start)) return parts.push(piece)
      const span = el("span", kind && `t-${kind}`, piece)
      if (hidden.has(start)) {
        span.classList.add("hidden")
        span.title = `U+${piece.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`
      }
      parts.push(over.length ? this.marked(span, over, i) : span)
    })
    node.replaceChildren(...parts)
  }

  marked(span, marks, i) { // of a part over many lines the first is marked, the others have its bar in the margin
    const inner = marks.filter(m => m.kind === "heat").sort(shorter)[0]
    span.classList.add("m", ...marks.filter(m => WHOLE.has(m.kind) || (m.kind !== "heat" && m.start >= this.starts[i])).map(m => m.kind))
    if (inner) {
      span.classList.add("heat")
      span.style.setProperty("--value", inner.start >= this.starts[i] ? inner.value : inner.value / 2)
    }
    if (marks.some(m => m.kind === "error" && m.end - m.start <= 2)) span.classList.add("point")
    span.marks = marks
    return span
  }

  margins(seen) { // line numbers and signs before the lines, figures behind them
    const numbers = [], figures = []
    for (const [i, top] of seen) {
      const from = this.starts[i], to = from + this.lines[i].length
      const here = this.marks.filter(m => m.start <= to && m.end >= from)
      const number = el("div", "number")
      number.style.transform = `translateY(${top}px)`
      if (i === this.current) number.classList.add("current")
      const sign = ["error", "warning", "info"].find(kind => here.some(m => m.kind === kind && m.start >= from))
      if (sign) number.append(el("b", `sign ${sign}`, ICONS[sign]))
      for (const kind of ["speaks", "masks", "selected"]) if (here.some(m => m.kind === kind)) number.append(el("i", `bar ${kind}`))
      number.append(el("span", "", i + 1))
      numbers.push(number)
      const heat = here.filter(m => m.kind === "heat" && m.start >= from && m.label).sort((a, b) => b.value - a.value)
      if (!heat.length) continue
      const figure = el("div", "figure")
      figure.style.transform = `translateY(${top}px)`
      figure.style.setProperty("--value", heat[0].value)
      figure.append(el("span", "", heat[0].label + (heat.length > 1 ? ` +${heat.length - 1}` : "")))
      figures.push(figure)
    }
    this.gutter.replaceChildren(...numbers)
    this.rail.replaceChildren(...figures)
    this.rail.hidden = !this.marks.some(m => m.kind === "heat" && m.label)
  }

  reach(offset) { // scrolls it into sight
    const node = this.nodes[this.line(offset)], { box } = this
    if (node.offsetTop < box.scrollTop || node.offsetTop + node.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = node.offsetTop - box.clientHeight / 3
    this.paint()
  }
}
