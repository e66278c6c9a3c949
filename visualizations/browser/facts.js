export default function (component) {
  const { data, parentElement } = component
  const sentence = el("p", `sentence${data.masked ? " masked" : ""}`)
  for (const part of data.sentence) sentence.append(part.kind === "text" ? part.text : el("code", part.kind === "masked" ? "struck" : part.kind, part.text))
  const figures = el("dl", "figures")
  for (const figure of data.figures) {
    const box = el("div"), value = el("dd", "", figure.value)
    value.append(el("small", "", figure.note))
    box.append(el("dt", "", figure.label), value)
    figures.append(box)
  }
  parentElement.querySelector(".root").replaceChildren(sentence, figures)
}
