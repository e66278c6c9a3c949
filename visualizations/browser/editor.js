// The field belongs to the browser: what is typed stays whatever Python sends, unless Python's version is newer.
// A <textarea> keeps caret, undo, selection and input methods the browser's own; the same text, coloured and marked, lies
// behind it line by line, and only the lines in sight are coloured. Offsets from and to Python count code points.
const PAUSE = 400 // ms without a key before Python is told
const KEPT = 20 // texts a draft descends from, by hash
const LONGEST = 5000 // characters of a line that is still coloured
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g
const SYNTAX = {
  json: String.raw`(?<name>"(?:[^"\\]|\\.)*"(?=\s*:))|(?<string>"(?:[^"\\]|\\.)*"?)|(?<number>-?\d[\d.eE+-]*)|(?<word>\b(?:true|false|null)\b)|(?<sign>[{}[\],:])`,
  regex: String.raw`(?<word>\\(?:[xu][\da-fA-F]+|[pP]\{[^}]*\}|.))|(?<string>\[\^?\]?(?:\\.|[^\]\\])*\]?)|(?<number>\{\d*,?\d*\}[?+]?|[*+?][?+]?)|(?<name>\((?:\?(?:[:=!>]|<[=!]|P?<\w+>|[aiLmsux-]+[:)]))?|[)|])|(?<sign>[\^$.])`,
  lark: String.raw`(?<comment>\/\/.*|#.*)|(?<name>^[?!]*\w+(?:\.-?\d+)?(?=[ \t]*(?:\{[^}]*\})?[ \t]*:))|(?<string>"(?:[^"\\]|\\.)*"?i?|\/(?!\/)(?:[^\/\\]|\\.)+\/[imslux]*)|(?<word>%\w+)|(?<number>~\s*\d+(?:\.\.\d+)?|[*+?])|(?<sign>[|:()[\]])`,
  gbnf: String.raw`(?<comment>#.*)|(?<name>^[\w-]+(?=[ \t]*::=))|(?<string>"(?:[^"\\]|\\.)*"?|\[\^?(?:\\.|[^\]\\])*\]?)|(?<number>\{\d*,?\d*\}|[*+?])|(?<sign>::=|[|()])`,
  text: "(?!)",
}
const LEGEND = [["speaks", "may speak next"], ["masks", "masked the first choice"], ["selected", "selected"], ["read", "read so far"], ["heat", "probability lost here"]]
const ICONS = { error: "✕", warning: "!", info: "i" }
const NAVIGATION = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"])

const hashed = text => { // FNV-1a, 32 bits: tells a text from those it descends from, no more
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return `${text.length}.${h >>> 0}`
}
const points = text => { // code points before each UTF-16 unit, null where they are the same
  if (!/[\ud800-\udbff][\udc00-\udfff]/.test(text)) return null
  const units = [] // the unit each code point begins at
  for (let i = 0; i < text.length; i += text.codePointAt(i) > 0xffff ? 2 : 1) units.push(i)
  units.push(text.length)
  return units
}
const shorter = (a, b) => a.end - a.start - b.end + b.start
const WHOLE = new Set(["read", "error", "warning", "info"]) // kinds that mark every line of what they mark
const toPoints = (text, unit) => [...text.slice(0, unit)].length
const difference = (a, b) => { // the shortest stretch that was replaced: [start, end in a, what it adds]
  const most = Math.min(a.length, b.length)
  let start = 0, tail = 0
  while (start < most && a.charCodeAt(start) === b.charCodeAt(start)) start++
  while (tail < most - start && a.charCodeAt(a.length - 1 - tail) === b.charCodeAt(b.length - 1 - tail)) tail++
  return [start, a.length - tail, b.length - a.length]
}

const stores = anyTab => [() => sessionStorage, ...anyTab ? [() => localStorage] : []]
const draft = { // the tab's own first; that of any tab where the tab has none
  name: key => `maskscope editor ${key}`,
  read(key, anyTab) {
    for (const store of stores(anyTab)) try {
      const found = JSON.parse(store().getItem(draft.name(key)))
      if (typeof found?.text === "string") return found
    } catch { /* no storage, or not ours */ }
    return null
  },
  write(key, value) {
    for (const store of stores(true)) try { store().setItem(draft.name(key), JSON.stringify(value)) } catch { /* full: Python still has it */ }
  },
  drop(key, anyTab) {
    for (const store of stores(anyTab)) try { store().removeItem(draft.name(key)) } catch { /* no storage */ }
  },
}

class Editor {
  constructor(root, data) {
    this.key = data.key
    this.lines = []
    this.nodes = []
    this.starts = []
    this.marks = []
    this.text = ""
    this.clicks = Date.now() // a field mounted again must count on
    this.build(root)
    this.listen()
  }

  build(root) {
    this.label = el("label", "label")
    this.where = el("span", "where")
    this.area = el("textarea", "area")
    this.layer = el("div", "layer")
    this.gutter = el("div", "gutter")
    this.rail = el("div", "rail")
    this.box = el("div", "box")
    this.foot = el("div", "foot")
    this.said = el("div", "said")
    this.hint = el("div", "hint")
    this.legend = el("div", "legend")
    this.area.id = "area"
    this.label.htmlFor = "area"
    this.foot.id = "foot"
    this.said.setAttribute("role", "status")
    for (const [name, value] of Object.entries({ spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "soft", "aria-describedby": "foot" })) this.area.setAttribute(name, value)
    for (const part of [this.layer, this.gutter, this.rail, this.where]) part.setAttribute("aria-hidden", "true")
    const head = el("div", "head"), sheet = el("div", "sheet")
    head.append(this.label, this.where)
    sheet.append(this.layer, this.area)
    this.box.append(this.gutter, sheet, this.rail)
    this.foot.append(this.said, this.hint)
    root.replaceChildren(head, this.box, this.foot, this.legend)
  }

  listen() {
    const { area, box } = this
    area.oninput = () => this.typed()
    area.onblur = event => {
      this.stand()
      // Streamlit sends this after a click's change of page, and would go back to the page it comes from: the draft keeps it.
      if (event.relatedTarget?.closest?.("a[href]")) this.wait(5 * PAUSE)
      else this.flush()
    }
    area.onfocus = () => this.stand()
    area.onclick = () => area.selectionStart === area.selectionEnd && this.pick()
    area.onkeydown = event => {
      event.stopPropagation() // the page's shortcuts are letters and arrows
      if (event.key === "Enter" && !event.isComposing && !event.ctrlKey && !event.metaKey && !event.altKey && !area.readOnly) {
        event.preventDefault()
        this.breakLine()
      }
    }
    area.onkeyup = event => {
      event.stopPropagation()
      this.stand()
      if (!NAVIGATION.has(event.key) || area.selectionStart !== area.selectionEnd) return
      clearTimeout(this.picks)
      this.picks = setTimeout(() => this.pick(), PAUSE)
    }
    area.onkeypress = event => event.stopPropagation()
    area.onmousemove = event => this.over(event)
    area.onmouseleave = () => this.say(null)
    box.onscroll = () => this.paint()
    this.keep = () => this.save()
    window.addEventListener("pagehide", this.keep)
    this.sizes = new ResizeObserver(() => this.paint())
    this.sizes.observe(box)
  }

  leave() { // Streamlit takes the field away; the draft says whether it was in use
    this.save(this.inUse())
    clearTimeout(this.timer)
    clearTimeout(this.picks)
    clearTimeout(this.saves)
    window.removeEventListener("pagehide", this.keep)
    this.sizes.disconnect()
  }

  // What is shown: decided once per mount, session and version.
  update(data) {
    const first = !this.data, before = this.data
    this.data = data
    if (data.readonly) {
      if (first || before.text !== data.text) this.show(data.text)
    } else this.settle(first)
    this.label.textContent = data.label
    this.area.readOnly = data.readonly
    this.box.style.setProperty("--height", `${data.height}px`)
    this.box.classList.toggle("fixed", !data.readonly)
    this.area.setAttribute("aria-invalid", String(data.problems.length > 0))
    this.syntax = new RegExp(SYNTAX[data.language], "gu")
    this.take(data)
    this.stale()
    this.stand()
    this.report()
    this.reveal(before)
  }

  settle(first) {
    const data = this.data
    if (!first && this.session === data.session) {
      if (data.version > this.version) this.load(true)
      return
    }
    const now = { session: this.session, version: this.version, edit: this.edit, text: this.text, known: this.known, page: performance.timeOrigin }
    const kept = first ? draft.read(this.key, data.version === 0) : this.changed ? now : null
    if (kept && this.outlives(kept)) this.restore(kept)
    else this.load(false, kept)
  }

  outlives(kept) { // whether a draft beats what Python says
    const data = this.data
    if (kept.session === data.session) return kept.version === data.version && kept.edit > data.edit
    if (data.version === 0) return true
    const again = kept.page === performance.timeOrigin || ["reload", "back_forward"].includes(performance.getEntriesByType("navigation")[0]?.type)
    return again && Array.isArray(kept.known) && kept.known.includes(hashed(data.text))
  }

  restore(kept) {
    const { data } = this
    Object.assign(this, { session: data.session, version: data.version, changed: true, edit: Math.max(data.edit, kept.session === data.session ? kept.edit : 0) + 1 })
    this.known = Array.isArray(kept.known) ? kept.known : []
    this.show(kept.text)
    this.back(kept)
    this.send()
    this.save()
  }

  load(replaces, kept) { // Python's text; `replaces`: on purpose, while the field was open
    const { data } = this
    const mine = kept?.session === data.session && kept.version === data.version
    this.lost = replaces && this.changed && this.text !== data.text ? this.text : ""
    if (!mine && (replaces || data.version > 0)) draft.drop(this.key, replaces)
    Object.assign(this, { session: data.session, version: data.version, edit: data.edit, changed: mine, known: [hashed(data.text)] })
    if (mine && Array.isArray(kept.known)) this.known = kept.known
    this.unsaid = false
    this.show(data.text)
    if (mine) this.back(kept)
  }

  back(kept) { // to where one was, and into the field if it was taken away under one's hands
    if (kept.page !== performance.timeOrigin || !(kept.caret <= this.text.length)) return
    this.area.setSelectionRange(kept.caret, kept.caret)
    requestAnimationFrame(() => { this.box.scrollTop = kept.top ?? 0 })
    if (kept.focus && Date.now() - kept.time < 1000) this.area.focus({ preventScroll: true })
  }

  show(text) {
    if (this.area.value !== text) {
      this.area.value = text
      this.area.setSelectionRange(0, 0)
    }
    this.relined()
  }

  // What is typed: kept at once, told after a pause.
  typed() {
    this.edit++
    this.changed = true
    this.lost = ""
    this.relined()
    this.stand()
    this.unsaid = true
    this.wait(PAUSE)
    clearTimeout(this.saves)
    this.saves = setTimeout(() => this.save(), 100)
  }

  wait(pause) {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.flush(), pause)
  }

  flush() {
    clearTimeout(this.timer)
    if (!this.unsaid) return
    this.unsaid = false
    this.known = [...this.known, hashed(this.text)].slice(-KEPT)
    this.save()
    this.send()
    this.report()
  }

  save(focus = false) {
    clearTimeout(this.saves)
    if (!this.changed || this.data.readonly) return
    const { session, version, edit, text, known } = this
    draft.write(this.key, { session, version, edit, text, known, focus, caret: this.area.selectionStart, top: this.box.scrollTop, time: Date.now(), page: performance.timeOrigin })
  }

  pick() {
    this.clicks++
    clearTimeout(this.picks)
    if (this.unsaid) this.flush()
    else this.send()
    this.stand()
  }

  send() {
    const { session, version, edit, clicks, text, area, data } = this
    const caret = toPoints(text, area.selectionStart)
    const fits = text.length <= data.limit
    this.tell({ session: session ?? data.session, version: version ?? data.version, edit: edit ?? 0, clicks, caret, size: text.length, text: data.readonly || !fits ? null : text })
  }

  breakLine() {
    const { area, text } = this, at = area.selectionStart, line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at)
    const deeper = this.data.language === "json" && /[[{]\s*$/.test(line) ? "  " : ""
    document.execCommand("insertText", false, "\n" + line.match(/^[ \t]*/)[0] + deeper) // keeps undo
  }

  bringBack() {
    const text = this.lost
    this.area.focus()
    this.area.select()
    if (text.length < 20000) document.execCommand("insertText", false, text) // keeps undo, but takes minutes for very long ones
    else {
      this.area.value = text
      this.typed()
    }
    this.flush()
  }

  // The layer behind: one node per line, those that stayed the same stay in place.
  relined() {
    const text = this.area.value, next = text.split("\n"), { lines, nodes, layer } = this
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
    if (this.shown) this.shift()
    this.paint()
  }

  take(data) { // the marks, as offsets in the text Python had
    const units = points(data.text), at = i => units ? units[Math.min(i, units.length - 1)] : i
    this.shown = { text: data.text, marks: data.marks.map(m => ({ ...m, start: at(m.start), end: at(m.end) })) }
    this.shift()
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

  stale() { // marks changed: every line in sight is painted anew
    this.round = (this.round ?? 0) + 1
    this.paint()
  }

  paint() {
    const { nodes, box } = this
    if (!nodes.length || !this.shown || !box.clientHeight) return
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
    span.marks = marks
    return span
  }

  margins(seen) { // line numbers and signs before the lines, figures behind them
    const numbers = [], figures = [], current = this.current
    for (const [i, top] of seen) {
      const from = this.starts[i], to = from + this.lines[i].length
      const here = this.marks.filter(m => m.start <= to && m.end >= from)
      const number = el("div", "number")
      number.style.transform = `translateY(${top}px)`
      if (i === current) number.classList.add("current")
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

  // What is said: where the caret is, what is wrong, what the mark under the mouse or the caret means.
  stand() {
    const at = this.area.selectionStart, i = this.line(at), column = toPoints(this.lines[i] ?? "", at - this.starts[i]) + 1
    const used = this.inUse(), current = used ? i : null
    this.where.textContent = used ? `Line ${i + 1}, column ${column}` : ""
    if (current !== this.current) {
      this.current = current
      this.paint()
    }
    this.say(null)
  }

  inUse() {
    return this.area.getRootNode().activeElement === this.area
  }

  over(event) {
    const stack = this.area.getRootNode().elementsFromPoint(event.clientX, event.clientY)
    this.say(stack.find(node => node.marks)?.marks ?? null)
  }

  say(marks) {
    const at = this.area.selectionStart, problems = new Set(this.data?.problems.map(p => p.message))
    const there = (marks ?? this.marks.filter(m => this.inUse() && m.start <= at && at <= m.end)).filter(m => m.message && !problems.has(m.message))
    const inner = there.sort(shorter)[0]
    const text = inner ? (inner.label && inner.kind === "heat" ? `${inner.label}: ${inner.message}` : inner.message) : ""
    if (this.hint.textContent !== text) this.hint.textContent = text
    this.hint.className = `hint ${inner?.kind ?? ""}`
    this.area.title = marks ? text : ""
  }

  report() {
    const { data, text } = this, items = []
    if (!data.readonly && text.length > data.limit) items.push(this.item("error", `This text has ${text.length.toLocaleString("en")} characters; ${data.limit.toLocaleString("en")} are the limit. It stays here, but it is not read until it is shorter.`))
    for (const problem of data.problems) {
      const item = this.item("error", problem.message, problem.place)
      item.querySelector("button")?.addEventListener("click", () => this.go(problem))
      items.push(item)
    }
    if (this.lost) {
      const item = this.item("info", "What you had typed was replaced.", "Bring it back")
      item.querySelector("button").addEventListener("click", () => this.bringBack())
      items.push(item)
    }
    this.said.replaceChildren(...items)
    const kinds = new Set(data.marks.map(m => m.kind))
    this.legend.replaceChildren(...LEGEND.filter(([kind]) => kinds.has(kind)).map(([kind, label]) => {
      const item = el("span"), sample = el("span", `m sample ${kind}`, kind === "heat" ? "0.9" : "ab")
      sample.style.setProperty("--value", 0.9)
      item.append(sample, data.legend[kind] ?? label)
      return item
    }))
  }

  item(kind, message, action) {
    const item = el("div", `item ${kind}`)
    item.append(el("b", "", ICONS[kind]), el("span", "", message))
    if (action) item.append(el("button", "", action))
    return item
  }

  go(problem) {
    const mark = this.marks.find(m => m.kind === "error" && m.message === problem.message)
    if (!mark) return
    this.area.focus({ preventScroll: true })
    this.area.setSelectionRange(mark.start, mark.start)
    this.scrollTo(mark.start)
    this.stand()
  }

  reveal(before) { // a part that was selected elsewhere comes into sight, but never while one is in the field
    const first = d => d?.marks.find(m => ["selected", "masks", "speaks"].includes(m.kind))
    const now = first(this.data), was = first(before)
    if (!now || (was && was.start === now.start && was.kind === now.kind) || this.inUse()) return
    const mark = first({ marks: this.marks })
    if (mark) this.scrollTo(mark.start)
  }

  scrollTo(offset) {
    const node = this.nodes[this.line(offset)], { box } = this
    if (node.offsetTop < box.scrollTop || node.offsetTop + node.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = node.offsetTop - box.clientHeight / 3
    this.paint()
  }
}

export default function (component) {
  const { data, parentElement, setStateValue } = component
  const root = parentElement.querySelector(".root")
  const editor = root.editor ??= new Editor(root, data)
  editor.tell = value => setStateValue("edit", value)
  editor.update(data)
  return () => editor.leave()
}
