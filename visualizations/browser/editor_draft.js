// What was typed, kept by the browser: the tab's own, and that of any tab for one that has none.
const KEPT = 20 // texts a draft descends from, by hash
const hashed = text => { // FNV-1a, 32 bits: tells a text from those it descends from, no more
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return `${text.length}.${h >>> 0}`
}
const stores = anyTab => [() => sessionStorage, ...anyTab ? [() => localStorage] : []]
const draft = {
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
  meets(key, session) { // whether this tab meets the session for the first time: only then another tab's text is offered
    const name = `${draft.name(key)} session`
    try {
      const fresh = sessionStorage.getItem(name) !== session
      sessionStorage.setItem(name, session)
      return fresh
    } catch { return true }
  },
  drop(key, anyTab) {
    for (const store of stores(anyTab)) try { store().removeItem(draft.name(key)) } catch { /* no storage */ }
  },
}
