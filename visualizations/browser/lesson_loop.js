const draw = component => {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const loop = el("div", "loop")
  for (const box of data.boxes) {
    const button = el("button", `box ${box.name}${box.extra ? " extra" : ""}`)
    button.append(el("b", "", box.title), el("span", "", box.text))
    if (box.name === "validator") button.append(el("i", "arrow up", "↑"))
    else if (box.name !== "draw") button.append(el("i", "arrow right", "→"))
    button.setAttribute("aria-pressed", String(box.name === data.current))
    button.onclick = () => setTriggerValue("pick", box.name)
    loop.append(button)
  }
  loop.append(el("div", "back", "← the token drawn moves the validator to its next state"), el("div", "again", "↺ the token is appended, and the model reads on"))
  root.replaceChildren(loop)
}
export default draw
