// The field belongs to the browser: what is typed stays whatever Python sends, unless Python's version is newer.
// A <textarea> keeps caret, undo, selection and input methods the browser's own; the same text, coloured and marked, lies
// behind it line by line, and only the lines in sight are coloured. Offsets from and to Python count code points.
const PAUSE = 400 // ms without a key before Python is told
const LEGEND = [["speaks", "may speak next"], ["masks", "masks the token looked at"], ["selected", "selected"], ["read", "read so far"], ["heat", "probability lost here"]]
const NAVIGATION = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"])

class Editor {
  constructor(root, data) {
    this.key = data.key
    this.clicks = 0
    this.build(root)
    this.listen()
  }

  build(root) {
    this.label = el("label", "label")
    this.where = el("span", "where")
    this.area = el("textarea", "area")
    this.box = el("div", "box")
    this.behind = new Layer(this.box)
    this.format = el("button", "format", "Format")
    this.foot = el("div", "foot")
    this.said = el("div", "said")
    this.hint = el("div", "hint")
    this.legend = el("div", "legend")
    this.area.id = "area"
    this.label.htmlFor = "area"
    this.foot.id = "foot"
    this.said.setAttribute("role", "status")
    for (const [name, value] of Object.entries({ spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "soft", "aria-describedby": "foot" })) this.area.setAttribute(name, value)
    this.where.setAttribute("aria-hidden", "true")
    this.format.title = "Break the long lines up; nothing but white space changes"
    const head = el("div", "head"), sheet = el("div", "sheet")
    head.append(this.label, this.format, this.where)
    sheet.append(this.behind.layer, this.area)
    this.box.append(this.behind.gutter, sheet, this.behind.rail)
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
    this.format.onclick = () => this.replace(reformatted(this.text))
    box.onscroll = () => this.behind.paint()
    this.keep = () => this.save()
    window.addEventListener("pagehide", this.keep)
    this.sizes = new ResizeObserver(() => this.behind.paint())
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
    this.behind.mark(data.text, data.marks, data.language)
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
    const fresh = draft.meets(this.key, data.session)
    const kept = first ? draft.read(this.key, fresh && data.version === 0) : this.changed ? this.state() : null
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
    const lost = mine ? "" : replaces ? this.changed && this.text : kept?.text
    this.lost = lost && lost !== data.text ? lost : ""
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
    this.lined()
  }

  lined() {
    this.text = this.area.value
    this.behind.show(this.text)
  }

  // What is typed: kept at once, told after a pause.
  typed() {
    this.edit++
    this.changed = true
    this.lost = ""
    this.lined()
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
    draft.write(this.key, { ...this.state(), focus })
  }

  state() {
    const { session, version, edit, text, known } = this
    return { session, version, edit, text, known, caret: this.area.selectionStart, top: this.box.scrollTop, time: Date.now(), page: performance.timeOrigin }
  }

  pick() {
    this.clicks = Math.max(this.clicks + 1, Date.now()) // counts on where the field was mounted before
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

  replace(text) { // as if it were typed
    this.area.focus({ preventScroll: true })
    this.area.select()
    if (text.length < 20000) document.execCommand("insertText", false, text) // keeps undo, but takes minutes for many lines
    else {
      this.area.value = text
      this.typed()
    }
    this.area.setSelectionRange(0, 0)
    this.box.scrollTop = 0
    this.flush()
    this.report()
  }

  // What is said: where the caret is, what is wrong, what the mark under the mouse or the caret means.
  stand() {
    const { behind } = this, at = this.area.selectionStart, i = behind.line(at), current = this.inUse() ? i : null
    this.where.textContent = this.inUse() ? `Ln ${i + 1}, Col ${toPoints(behind.lines[i], at - behind.starts[i]) + 1}` : ""
    if (current !== behind.current) {
      behind.current = current
      behind.paint()
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
    const there = (marks ?? this.behind.marks.filter(m => this.inUse() && m.start <= at && at <= m.end)).filter(m => m.message && !problems.has(m.message))
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
      item.querySelector("button").addEventListener("click", () => this.replace(this.lost))
      items.push(item)
    }
    this.said.replaceChildren(...items)
    this.format.hidden = data.readonly || data.language !== "json" || data.problems.length > 0 || !this.behind.lines.some(line => line.length > LONG)
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
    if (action) item.append(" ", el("button", "", action))
    return item
  }

  go(problem) {
    const mark = this.behind.marks.find(m => m.kind === "error" && m.message === problem.message)
    if (!mark) return
    this.area.focus({ preventScroll: true })
    this.area.setSelectionRange(mark.start, mark.start)
    this.behind.reach(mark.start)
    this.stand()
  }

  reveal(before) { // a part that was selected elsewhere comes into sight, but never while one is in the field
    const first = d => d?.marks.find(m => ["selected", "masks", "speaks"].includes(m.kind))
    const now = first(this.data), was = first(before)
    if (!now || (was && was.start === now.start && was.kind === now.kind) || this.inUse()) return
    const mark = first({ marks: this.behind.marks })
    if (mark) this.behind.reach(mark.start)
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
