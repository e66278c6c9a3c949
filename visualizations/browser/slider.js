const PATIENCE = 1000 // ms; how long what was asked for outweighs what the server shows

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  let range = root.querySelector("input"), said = root.querySelector(".said")
  if (!range) { // stays in place when data changes, or a drag would end
    range = el("input")
    range.type = "range"
    range.min = 0
    range.setAttribute("aria-label", "Step")
    said = el("span", "said")
    root.replaceChildren(range, said)
  }
  const say = () => {
    said.textContent = `step ${range.value} of ${range.max}`
    range.setAttribute("aria-valuetext", said.textContent)
  }
  const settle = () => {
    range.value = data.current
    say()
  }
  clearTimeout(range.waits)
  range.max = data.last
  if (range.asked !== undefined && range.asked !== data.current && performance.now() < range.until) {
    range.waits = setTimeout(settle, range.until - performance.now())
    say()
  } else settle()
  range.oninput = () => {
    range.asked = Number(range.value)
    range.until = performance.now() + PATIENCE
    say()
    setTriggerValue("step", range.asked)
  }
  range.onkeydown = event => { // the page's own keys would move as well
    if (event.key.startsWith("Arrow") || ["Home", "End"].includes(event.key) && !event.shiftKey) event.stopPropagation()
  }
}
