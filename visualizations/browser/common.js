// Shared by every component. Text from tokens and schemas only ever goes through textContent.
const el = (tag, cls, text) => {
  const node = document.createElement(tag)
  if (cls) node.className = cls
  if (text !== undefined) node.textContent = text
  return node
}
const hold = (box, item) => { // keep `item` visible without moving the page
  const a = box.getBoundingClientRect(), b = item.getBoundingClientRect()
  if (b.top < a.top || b.bottom > a.bottom) box.scrollTop += b.top - a.top - (a.height - b.height) / 2
  if (b.left < a.left || b.right > a.right) box.scrollLeft += b.left - a.left - (a.width - b.width) / 2
}
