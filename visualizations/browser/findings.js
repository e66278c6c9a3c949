const SIGNS = { error: ["✕", "error"], warning: ["!", "warning"], info: ["i", "note"] }
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root"), box = el("div", "groups"), top = root.querySelector(".groups")?.scrollTop ?? 0
  data.groups.forEach((group, g) => {
    const section = el("section")
    const title = el("div", "title", group.title)
    if (group.rows.length) title.append(el("span", "count", group.rows.length + group.more))
    section.append(title)
    if (!group.rows.length) section.append(el("div", "nothing", `✓ ${group.nothing}`))
    const list = el("ul")
    group.rows.forEach((row, r) => {
      const item = el("li"), button = el("button", `row ${row.severity}`), [sign, word] = SIGNS[row.severity]
      const icon = el("b", "sign", sign), body = el("span", "body"), place = el("span", "place", row.place)
      icon.setAttribute("aria-label", word)
      icon.setAttribute("role", "img")
      if (row.keyword && !row.place.endsWith(`/${row.keyword}`)) place.append(el("span", "keyword", row.keyword))
      body.append(place, el("span", "message", row.message))
      if (row.why) body.append(el("span", "why", row.why))
      button.append(icon, body)
      button.title = "Select this place in the text"
      if (row.selected) button.classList.add("selected")
      button.setAttribute("aria-pressed", String(row.selected))
      button.onclick = () => setTriggerValue("select", { group: g, row: r })
      item.append(button)
      list.append(item)
    })
    if (group.rows.length) section.append(list)
    if (group.more) section.append(el("div", "nothing", `and ${group.more} more`))
    box.append(section)
  })
  const focused = root.getRootNode().activeElement?.closest?.("button")
  const was = focused ? [...root.querySelectorAll("button")].indexOf(focused) : -1
  root.replaceChildren(box)
  box.scrollTop = top
  if (was >= 0) root.querySelectorAll("button")[was]?.focus({ preventScroll: true })
}
