export default function (component) {
  const { data, parentElement } = component
  const box = el("div", `notice ${data.kind}`)
  box.setAttribute("role", data.kind === "error" ? "alert" : "status")
  const icon = el("b", "", data.icon)
  icon.setAttribute("aria-hidden", "true")
  box.append(icon, el("span", "", data.text))
  parentElement.querySelector(".root").replaceChildren(box)
}
