// What can be said of a text without showing it: its colours, its offsets in code points, what an edit changed.
const LONGEST = 5000 // characters of a line that is still coloured
const LONG = 160 // characters of a line that is better broken up
const FLAT = 60 // characters of a part that stays on one line
const DEEPEST = 200 // levels that are still indented
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g
const SYNTAX = {
  json: String.raw`(?<name>"(?:[^"\\]|\\.)*"(?=\s*:))|(?<string>"(?:[^"\\]|\\.)*"?)|(?<number>-?\d[\d.eE+-]*)|(?<word>\b(?:true|false|null)\b)|(?<sign>[{}[\],:])`,
  regex: String.raw`(?<word>\\(?:[xu][\da-fA-F]+|[pP]\{[^}]*\}|.))|(?<string>\[\^?\]?(?:\\.|[^\]\\])*\]?)|(?<number>\{\d*,?\d*\}[?+]?|[*+?][?+]?)|(?<name>\((?:\?(?:[:=!>]|<[=!]|P?<\w+>|[aiLmsux-]+[:)]))?|[)|])|(?<sign>[\^$.])`,
  lark: String.raw`(?<comment>\/\/.*|#.*)|(?<name>^[?!]*\w+(?:\.-?\d+)?(?=[ \t]*(?:\{[^}]*\})?[ \t]*:))|(?<string>"(?:[^"\\]|\\.)*"?i?|\/(?!\/)(?:[^\/\\]|\\.)+\/[imslux]*)|(?<word>%\w+)|(?<number>~\s*\d+(?:\.\.\d+)?|[*+?])|(?<sign>[|:()[\]])`,
  gbnf: String.raw`(?<comment>#.*)|(?<name>^[\w-]+(?=[ \t]*::=))|(?<string>"(?:[^"\\]|\\.)*"?|\[\^?(?:\\.|[^\]\\])*\]?)|(?<number>\{\d*,?\d*\}|[*+?])|(?<sign>::=|[|()])`,
  text: "(?!)",
}

const points = text => { // code points before each UTF-16 unit, null where they are the same
  if (!/[\ud800-\udbff][\udc00-\udfff]/.test(text)) return null
  const units = [] // the unit each code point begins at
  for (let i = 0; i < text.length; i += text.codePointAt(i) > 0xffff ? 2 : 1) units.push(i)
  units.push(text.length)
  return units
}
const toPoints = (text, unit) => unit - (text.slice(0, unit).match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0)
const difference = (a, b) => { // the shortest stretch that was replaced: [start, end in a, what it adds]
  const most = Math.min(a.length, b.length)
  let start = 0, tail = 0
  while (start < most && a.charCodeAt(start) === b.charCodeAt(start)) start++
  while (tail < most - start && a.charCodeAt(a.length - 1 - tail) === b.charCodeAt(b.length - 1 - tail)) tail++
  return [start, a.length - tail, b.length - a.length]
}
const shorter = (a, b) => a.end - a.start - b.end + b.start
const reformatted = text => { // JSON with a line per member, short and flat parts on one; nothing but white space changes
  const tokens = text.match(/"(?:[^"\\\n]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/g) ?? []
  const open = [], closes = [], nests = [], ends = []
  let length = 0, deepest = 0
  for (const [i, token] of tokens.entries()) {
    ends[i] = length += token.length
    if ("{[".includes(token)) {
      if (open.length) nests[open.at(-1)] = true
      deepest = Math.max(deepest, open.push(i))
    } else if ("}]".includes(token) && open.length) closes[open.pop()] = i
  }
  let out = "", depth = 0, flat = -1, word = false
  const line = () => "\n" + "  ".repeat(depth)
  for (const [i, token] of deepest > DEEPEST ? [] : tokens.entries()) {
    if (word && !"{}[],:".includes(token)) return text // no JSON
    word = !"{}[],:".includes(token)
    if ("{[".includes(token)) {
      if (i > flat && !nests[i] && ends[closes[i]] - ends[i] <= FLAT) flat = closes[i]
      if (i > flat) depth++
      out += token + (i > flat ? line() : "")
    } else if ("}]".includes(token)) {
      if (i > flat) depth = Math.max(0, depth - 1)
      out += (i > flat ? line() : "") + token
    } else out += token === "," ? (i < flat ? ", " : "," + line()) : token === ":" ? ": " : token
  }
  return out || text
}
